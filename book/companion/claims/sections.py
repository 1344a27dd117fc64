"""Where in its chapter a claim is judged: a label of a theorem, a figure or a section."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SECTIONS", "VERDICTS_SECTION"]

VERDICTS_SECTION = "verdicts"
"""The section of every chapter that lists its claims."""

# label → what follows a paper's key in the ids of the claims that are judged there
_STOPPING = {
    "thm-nas": "nas nas-samples nas-improved halting-monotone",
    "thm-svt": "svt",
    "lem-hoeffding": "noise-facts",
    "thm-worst": "thm-3.1-private cor-3.2-private",
    "thm-dpnas": "thm-3.1-correct cor-3.2-correct",
    "thm-halting": "doubling thm-3.3 thm-3.3-steps",
    "prop-fact": "fact-2.1-below fact-2.1-above fact-2.1-monotone",
    "thm-dagum": "dagum dagum-matching mild-assumption",
    "lem-group": "lemma-3.5",
    "thm-private-lower": "thm-3.4",
    "cor-lower": "cor-3.6 thm-3.3-optimal",
    "small-variance": "variance-bypass bernstein",
}
_ELIMINATION = {
    "thm-privacy": "thm-4.1",
    "prop-compose": "attempts k-squared",
    "lem-pulls": "lemma-4.2-probability lemma-4.2-elimination best-arm two-arms",
    "prop-printed": "lemma-4.2-order lemma-4.2-halving lemma-4.2-constants",
    "thm-regret": "thm-4.3 thm-4.3-last optimal",
    "guess-and-double": "guess-and-double",
    "thm-lower": "lower-bound lai-robbins",
    "thm-minimax": "thm-4.4 thm-4.4-gap",
    "prop-minimax-lower": "minimax-gap ucb-minimax",
    "lem-tree": "tree-variance tree-union tree-necessary footnote-2 footnote-3",
    "thm-dpucb": "ucb-misses ucb-regret subsumed",
    "the-experiment": "settings shapes",
    "ratio-table": "five-times",
    "what-privacy-costs-each-algorithm": "same-order",
    "prop-epochs": "few-choices",
    "concentrated-privacy": "concentrated",
}
_COUNTERS = {
    "prop-steps": "text-definition nothing-learned",
    "thm-counters": "hybrid hybrid-noise",
    "thm-bound22": "bound-2.2 bound-2.2-used chan-bound noise-grows",
    "thm-31": "thm-3.1 thm-3.1-def-2.1 unbounded groups",
    "thm-32-false": "thm-3.2 factor-bound",
    "thm-33": "thm-3.3 thm-3.3-order factor-hybrid same-noise",
    "lem-31": "lemma-3.1",
    "alg-int": "harmonic above-two below-bonus",
    "prop-34": "thm-3.4-first thm-3.4-second cor-3.1 cor-3.2",
    "prop-int-step": "cor-3.2-def-2.1",
    "thm-interval": "additive",
    "thm-35-false": "thm-3.5",
    "the-older-one-private-ucb": "previous-order",
    "td16-fig2": "fig2-best fig2-gap fig2-crossing fig2-worst proportional validate reason",
    "td16-spread": "fig2-spread",
}
_HEAVY = {
    "def-local": "ldp",
    "lem-truncation": "lemma-10 unbounded",
    "thm-central-mean": "efficient laplace",
    "lem-contraction": "lemma-15 lemma-14",
    "thm-local-mean": "local-ucb local-noise",
    "thm-rse": "thm-3 lemma-4 thm-4 thm-4-minimax thm-6 lemma-1 optimal-local",
    "lem-adaptive": "lemma-2-private lemma-2-noise algorithm-2 thm-1",
    "thm-dprucb": "thm-2 improved near-optimal tree-suboptimal",
    "prop-no-constant": "lemma-3",
    "thm-heavy-lower": "thm-5 optimal remark-2 thm-8 thm-9 remark-4 lemma-12",
    "cor-flaw": "thm-7 thm-7-minimax remark-3",
    "ours-heavy-local-schedule": "lemma-13",
    "the-paper-s-figures": "setting-3 fig-dprse fig-epsilon fig-v settings pareto support",
    "twzw22-fig2": "fig-local",
}
_IDENTIFICATION = {
    "thm-bai-change": "thm-2 zcdp group-divergence",
    "lem-two-forms": "convex normal-distance",
    "thm-time-facts": "tighter high-privacy lemma-43 linear-arms near-ties",
    "prop-switch": "log-odds switch-free switch-045 best-epsilon",
    "alg-dptt": "half memory",
    "thm-dptt-private": "lemma-4 pan-privacy same-guarantee gaussian-mechanism range only-bounded",
    "lem-rate": "eta-zero lemma-9 forgetting",
    "thm-chernoff-correct": "thm-5 log-threshold",
    "prop-factor": "constant-8 one-plus-eta k-eta",
    "starvation": "ties",
    "ja25-fig1": "outperforms twice-free above-bound",
    "ja25-fig2": "thousands",
    "ours-bai-delta": "moderate-delta",
    "ours-bai-arms": "linear-measured",
    "ours-bai-eta": "eta-tradeoff smaller-eta",
}


def _named(paper: str, places: Mapping[str, str]) -> dict[str, str]:
    return {f"{paper}-{name}": label for label, names in places.items() for name in names.split()}


SECTIONS: Mapping[str, str] = {
    **_named("ss19", _STOPPING),
    **_named("ss19", _ELIMINATION),
    **_named("td16", _COUNTERS),
    **_named("twzw22", _HEAVY),
    **_named("ja25", _IDENTIFICATION),
}
"""Id of a claim → label of the place in its chapter."""
