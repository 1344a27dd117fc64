"""What runs in compiled loops under audit is the algorithm: run by run, on the same generator."""

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing import subject_of

N_PULLS, RUNS = 20, 60
TOP_TWO = [
    dpb.TopTwo(0.5),
    dpb.DPTT(2.0, 0.5),
    dpb.DPTT(1.0, 0.9, "union", eta=0.4, leader_share=0.3, costs="plain", exploration=0.5, first=2),
    dpb.AdaPTT(2.0, 0.5),
    dpb.AdaPTT(8.0, 0.9, "heuristic", leader_share=0.7),
    dpb.AdaPTT(8.0, 0.5, "separate"),
    dpb.AdaPTTStar(4.0, 0.9),
]


def both(target, table, n_runs=RUNS):
    """Outputs of the compiled loop and of the target's own, after which both generators agree.

    The own loop is that of a subclass: what is not a class of ours is run by its own methods.
    """
    rngs = [np.random.default_rng(3) for _ in range(2)]
    targets = target, type("Plain", (type(target),), {})(**vars(target))
    found = [
        subject_of(each, N_PULLS).outputs(table, n_runs, rng)
        for each, rng in zip(targets, rngs, strict=True)
    ]
    assert rngs[0].random() == rngs[1].random()
    return found


@pytest.mark.parametrize("n_arms", [2, 3])
@pytest.mark.parametrize("algorithm", TOP_TWO, ids=repr)
def test_top_two(algorithm, n_arms):
    table = (np.random.default_rng(2).random((n_arms, N_PULLS)) < 0.5).astype(float)
    loop, own = both(algorithm, table)
    assert np.array_equal(loop.values, own.values) and np.array_equal(loop.actions, own.actions)
    assert len(np.unique(own.actions, axis=0)) > 2 or isinstance(algorithm, dpb.TopTwo)


def test_top_two_stops_and_is_stopped():
    """The runs above end in both ways: some recommend, and some use the table up."""
    table = np.vstack([np.ones(200), np.zeros(200)])
    for algorithm in (dpb.DPTT(4.0, 0.9), dpb.AdaPTT(8.0, 0.5, "separate"), dpb.TopTwo(0.1)):
        for rewards in (table, table[:, :4]):
            loop, own = both(algorithm, rewards, 20)
            assert np.array_equal(loop.values, own.values)
            assert (own.values[:, 0] == (0 if rewards is table else -1)).any()
