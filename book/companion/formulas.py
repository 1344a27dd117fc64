"""LaTeX formulas written as plain text, for a terminal and for the search index."""

import re

SIGNS = {
    "varepsilon": "ε", "eps": "ε", "epsilon": "ε", "infty": "∞", "cdot": "·", "sum": "Σ",
    "prod": "Π", "int": "∫", "ell": "ℓ", "partial": "∂", "ldots": "…", "dots": "…", "cdots": "…",
    "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "delta": "δ", "Delta": "Δ", "eta": "η",
    "kappa": "κ", "lambda": "λ", "Lambda": "Λ", "mu": "μ", "nu": "ν", "pi": "π", "Pi": "Π",
    "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "Sigma": "Σ", "tau": "τ", "theta": "θ", "Theta": "Θ",
    "vartheta": "ϑ", "varphi": "φ", "phi": "φ", "Phi": "Φ", "psi": "ψ", "Psi": "Ψ", "chi": "χ",
    "xi": "ξ", "Xi": "Ξ", "zeta": "ζ", "omega": "ω", "Omega": "Ω", "iota": "ι", "Pr": "P",
    "P": "P", "E": "E", "ind": "1", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩",
    "star": "⋆", "ast": "*", "circ": "∘", "bigcap": "∩", "bigcup": "∪", "prime": "′",
    "top": "⊤", "emptyset": "∅", "lbrace": "{", "rbrace": "}",
}  # fmt: skip
"""Commands of LaTeX that are one sign."""
RELATIONS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "times": "×", "to": "→",
    "rightarrow": "→", "in": "∈", "notin": "∉", "pm": "±", "mp": "∓", "approx": "≈", "sim": "~",
    "leftarrow": "←", "gets": "←", "mid": "|", "propto": "∝", "mapsto": "↦", "subset": "⊂",
    "subseteq": "⊆", "cap": "∩", "cup": "∪", "setminus": "∖", "oplus": "⊕", "uparrow": "↑",
    "downarrow": "↓", "ll": "≪", "gg": "≫", "equiv": "≡", "lesssim": "≲", "gtrsim": "≳",
    "wedge": "∧", "vee": "∨", "land": "∧", "lor": "∨", "Rightarrow": "⇒", "iff": "⇔",
}  # fmt: skip
"""Commands that are one sign between two spaces."""
ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303",
           "bar": "\u0304", "dot": "\u0307"}  # fmt: skip
PLAIN = frozenset([
    "mathrm", "operatorname", "text", "textrm", "textbf", "textit", "mathbb", "mathcal",
    "mathit", "mathbf", "mathsf", "mathop", "overline", "underline", "underbrace", "overbrace",
    "boldsymbol", "mbox",
])  # fmt: skip
"""Commands of which only the argument is kept."""
UNSEEN = frozenset([
    "left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr",
    "biggl", "biggr", "Biggl", "Biggr", "bigm", "Bigm", "rm", "displaystyle", "textstyle",
    "scriptstyle", "limits", "nolimits", "nonumber", "notag", "hfill",
])  # fmt: skip
"""Commands that only change how a formula looks."""
BLANKS = frozenset(["quad", "qquad", "enspace", ",", ":", ";", ">", " ", "\n", "\\"])
SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.DOTALL)
ATOM = re.compile(
    r"(?:\d+(?:\.\d+)?|\w[\u0300-\u036f]?|[√]?\([^()]*\)|[∞…⋆])[₀-₉]*"
    r"(?:_(?:\w|\([^()]*\)))?['′*⋆]*(?:[⁰¹²³⁴-⁹⁺⁻]+|\^(?:\w|\([^()]*\)))?"
)
"""What needs no parentheses below a fraction's line or a root."""
SPACES = re.compile(r"\s+")
FORMULA = re.compile(r"\$([^$]+)\$")
"""A formula within a sentence."""


class Formula:
    """A LaTeX formula, read from left to right and written as text."""

    def __init__(self, latex: str) -> None:
        self._tokens = TOKEN.findall(latex)
        self._next = 0

    def read(self, end: str = "") -> str:
        """Return the text up to a token, which is consumed, or to the end."""
        text, fraction, word = "", False, False
        while (token := self._take()) not in {end, ""}:
            if token in {"^", "_"}:
                if fraction:  # the last fraction as a whole
                    text = re.sub(r"(\S+)$", r"(\1)", text)
                text += self._script(token)
                fraction = False
                continue
            piece = self._written(token)
            if not piece:
                continue
            is_fraction = bool(re.match(r"\\[cdt]?frac$", token))
            is_word = bool(re.match(r"[A-Za-z]{2}", piece)) and not is_fraction
            if text and _apart(text, piece, word or is_word, fraction or is_fraction):
                text += " "
            text += piece
            fraction, word = is_fraction, is_word and bool(re.search(r"[A-Za-z]{2}$", piece))
        return text

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1] if self._next <= len(self._tokens) else ""

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _argument(self) -> str:
        token = self._take()
        while token.isspace():
            token = self._take()
        if token[:1].isdigit() and len(token) > 1:  # one digit, as in \frac12
            self._next -= 1
            self._tokens[self._next : self._next + 1] = list(token)
            token = self._take()
        return SPACES.sub(" ", self._written(token)).strip()

    def _raw(self) -> str:
        """Consume a name in braces, such as that of an environment, and return it."""
        pieces = []
        if self._peek() == "{":
            while (token := self._take()) not in {"}", ""}:
                pieces.append(token)
        return "".join(pieces[1:])

    def _script(self, token: str) -> str:
        text = self._argument()
        if token == "^" and re.fullmatch(r"[-−]?\d+|[+-]", text):
            return text.translate(SUPERSCRIPTS)
        if token == "^" and re.fullmatch(r"[*⋆′']+", text):
            return text
        if token == "_" and text.isdigit():
            return text.translate(SUBSCRIPTS)
        if re.fullmatch(r"\w[\u0300-\u036f]?|\([^()]*\)|[*⋆∞+-]|[A-Za-z]{2,}" if token == "_"
                        else r"\w|\([^()]*\)|∞", text):  # fmt: skip
            return token + text
        return f"{token}({text})" if text else ""

    def _written(self, token: str) -> str:
        if token == "{":
            return self.read("}")
        if token in {"&", "~"} or token.isspace():
            return " "
        if not token.startswith("\\"):
            return "" if token == "}" else token
        name = token[1:]
        if name in BLANKS:
            return " "
        if not name.isalpha():
            return {"|": "‖"}.get(name, "" if name in "()[]!/" else name)
        return self._command(name)

    def _command(self, name: str) -> str:
        if name in UNSEEN:
            if name in {"left", "right"} and self._peek() == ".":
                self._take()
            return ""
        if name in {"begin", "end"}:
            if self._raw() == "array" and name == "begin":
                self._raw()
            return " "
        if name in PLAIN or name == "tag":
            text = self._argument()
            return f" ({text})" if name == "tag" else text
        if name in ACCENTS:
            text = self._argument()
            return text[:1] + ACCENTS[name] + text[1:] if len(text) == 1 else text
        if re.fullmatch(r"[cdt]?frac", name):
            above, below = self._argument(), self._argument()
            if re.search(r"[-+−±=≤≥<>,/]", _outside(above)):
                above = f"({above})"
            return f"{above}/{_held(below)}"
        if re.fullmatch(r"[dt]?binom", name):
            return f"binom({self._argument()}, {self._argument()})"
        if name == "sqrt":
            degree = ""
            if self._peek() == "[":
                self._take()
                degree = self.read("]").translate(SUPERSCRIPTS)
            return f"{degree}√{_held(self._argument())}"
        if name in RELATIONS:
            return f" {RELATIONS[name]} "
        return SIGNS.get(name) or {"argmax": "arg max", "argmin": "arg min"}.get(name, name)


def _outside(text: str) -> str:
    """Return the part outside parentheses."""
    before = None
    while before != text:
        before, text = text, re.sub(r"\([^()]*\)", "", text)
    return text


def _held(text: str) -> str:
    return text if ATOM.fullmatch(text) else f"({text})"


def _apart(text: str, piece: str, word: bool, fraction: bool) -> bool:
    """Return whether two pieces need a space between them to be legible."""
    last, first = text[-1], piece[0]
    if not (last.isalnum() or last in ")*⋆'") or not (first.isalnum() or first in "(√Σ∫"):
        return False
    if fraction:
        return True
    scripted = re.search(r"[_^](?:\w[\u0300-\u036f]?|[A-Za-z]+|\([^()]*\))$", text)
    return first != "(" and bool(word or scripted)


def plain_math(latex: str) -> str:
    r"""Write a formula as text that can be read and searched.

    Examples
    --------
    >>> plain_math(r"\(\frac{\log T}{\varepsilon} \le \mu_{a}\)")
    'log T/ε ≤ μ_a'
    >>> plain_math(r"\tfrac12\log_2 T + \frac{C_2}\varepsilon, \sqrt{2\pi}, 10^{11}, e^{-z}")
    '1/2 log₂ T + C₂/ε, √(2π), 10¹¹, e^(-z)'
    """
    text = SPACES.sub(" ", Formula(latex).read()).strip()
    text = re.sub(r"([(\[⌊⌈]) | (?=[)\],;⌋⌉])", r"\1", text)
    return re.sub(r" ([.])(?!\d)", r"\1", text)


def as_text(sentence: str) -> str:
    r"""Write a sentence as text, including the formulas between its dollar signs.

    Parameters
    ----------
    sentence : str
        A sentence in MyST, such as the statement of a claim.

    Returns
    -------
    str
        The sentence as shown in a terminal.

    Examples
    --------
    >>> as_text(r"It is at most $\sqrt{T}/\varepsilon$, for $K = 2$.")
    'It is at most √T/ε, for K = 2.'
    """
    return FORMULA.sub(lambda match: plain_math(match[1]), sentence)
