"""Work the explorer in a browser, and compare what it shows with what the package computes.

Expected numbers come from `dpbandits` and from
the published figures, not from the file that the page reads.
"""

import math
import re

import pytest
from reader import none

from companion.explorer import CURVE
from companion.publishing import published
from companion.tables import records
from dpbandits import bounds
from dpbandits.identification import characteristic_time
from dpbandits.identification.characteristic import sample_lower_bound
from dpbandits.rewards.instances import equal_gaps, ja25, ss19
from dpbandits.rewards.populations import isis2

PAGE = "book/explorer.html"
C1 = "#instance=C1&k=5&e=0.1&d=0.01"
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))

TABLE = """part => [...document.querySelectorAll(`#x-${part}-table tr`)]
    .map(row => [...row.cells].map(cell => cell.textContent))"""
BUSY = "() => document.querySelector('#x-form').ariaBusy"
FOCUSED = """() => {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    return {id: node.id || node.parentElement?.className || node.tagName,
        ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2};
}"""


def number(text: str) -> float:
    """Read a number as the page writes it: 1 230, 0.244, 1.62·10⁷, 5·10⁻⁴, 10⁷."""
    text = text.replace("\u202f", "")
    found = re.fullmatch(r"(?:([\d.]+)·)?10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", text)
    if found is None:
        return float(text)
    return float(found[1] or 1) * 10 ** int("".join(RAISED[c] for c in found[2]))


def differs(what: str, shown: str, expected: float, decimals: int | None = None) -> list[str]:
    """Compare a number on the page with another, to three digits or so many decimals."""
    try:
        value = number(shown)
    except ValueError:
        return [f"{what}: {shown!r} is no number, for {expected:.6g}"]
    if decimals is None and expected:
        decimals = 2 - math.floor(math.log10(abs(expected)))
    # The file behind the page is rounded as well, to one digit more than is shown.
    allowed = 0.56 * 10.0 ** -(decimals or 0)
    return [] if abs(value - expected) <= allowed else [f"{what}: {shown} for {expected:.6g}"]


class Explorer:
    """The page, as a reader works it."""

    def __init__(self, page, base: str, state: str = "") -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.goto("about:blank")
        page.goto(f"{base}/{PAGE}{state}", wait_until="load")
        page.wait_for_function("() => document.querySelector('#x-said').textContent")

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_role("combobox", name=label).select_option(value)
        self.page.wait_for_function(f"() => ({BUSY})() !== 'true'")

    def epsilon(self) -> float:
        return float(self.page.locator("#x-epsilon-now").inner_text())

    def said(self) -> str:
        self.page.wait_for_timeout(400)
        return self.page.locator("#x-said").inner_text()

    def row(self, part: str, first: str) -> dict[str, str]:
        head, *rows = self.page.evaluate(TABLE, part)
        for row in rows:
            if row[0] == first:
                return dict(zip(head, row, strict=True))
        self.problems.append(f"{part}: no row {first!r} among {[row[0] for row in rows]}")
        return dict.fromkeys(head, "absent")

    def compare(self, what: str, shown: str, expected: float, decimals: int | None = None) -> None:
        self.problems += differs(what, shown, expected, decimals)

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.problems.append(f"{what}: {found!r} for {wanted!r}")


def check_theory(x: Explorer, means, delta: float) -> None:
    """Compare times, weights and bounds at the slider's ε with the package."""
    epsilon = x.epsilon()
    time, free = characteristic_time(means, epsilon), characteristic_time(means, math.inf)
    where = f"ε = {epsilon:g}"
    x.compare(f"T* at {where}", x.row("time", f"at {where}")["value"], time.value)
    x.compare("T* without privacy", x.row("time", "without privacy")["value"], free.value)
    x.compare(f"ratio at {where}", x.row("time", "ratio")["value"], time.value / free.value)
    bound = x.row("found", "lower bound, ε-DP")["mean"]
    x.compare(f"bound on pulls at {where}", bound, sample_lower_bound(means, epsilon, delta))
    _, *rows = x.page.evaluate(TABLE, "weights")
    shares = [(float(mean), int(count), share, other) for mean, count, share, other in rows]
    x.expect("arms in the table of weights", sum(row[1] for row in shares), len(means))
    order = sorted(range(len(means)), key=lambda i: -means[i])
    place = 0
    for mean, count, share, other in shares:
        x.compare("mean of an arm", f"{mean}", means[order[place]])
        x.compare(f"weight at {where}", share, time.weights[order[place]], 3)
        x.compare("weight without privacy", other, free.weights[order[place]], 3)
        place += count


def check_regret(x: Explorer, source: str, means, horizon: int, names: dict[str, tuple]) -> None:
    """Compare curves and rates in the table over time with an experiment and the package."""
    (now,) = x.page.locator("#x-regret-budgets [aria-pressed=true]").all_inner_texts()
    epsilon = float(now)
    head = x.page.evaluate(TABLE, "regret")[0]
    curves = list(records(published(source).table, CURVE))
    for shown, labels in names.items():
        instance, algorithm, variant, budget = labels
        (curve,) = (
            c
            for c in curves
            if (c.instance, c.n_arms, c.algorithm, c.variant, c.time[-1])
            == (instance, len(means), algorithm, variant, horizon)
            and c.epsilon in (budget or epsilon, math.inf)
        )
        row = x.row("regret", shown)
        for text in head[3:]:
            cell = row[text]
            if cell == "–":
                continue
            (at,) = [i for i, t in enumerate(curve.time) if t == round(number(text))] or [None]
            if at is None:
                x.problems.append(f"{shown}: no checkpoint at {text}")
                continue
            mean, low, high = re.fullmatch(r"(.+) \((.+) to (.+)\)", cell).groups()
            for value, known in ((mean, curve.mean), (low, curve.low), (high, curve.high)):
                x.compare(f"{shown} after {text} pulls", value, float(known[at]))
    for name, rate in (
        ("lower bound, ε-DP", bounds.private_regret_rate(means, epsilon)),
        ("lower bound, no privacy", bounds.lai_robbins_rate(means)),
    ):
        x.compare(name, x.row("regret", name)[head[-1]], rate * math.log(horizon))


def check_found(x: Explorer, source: str, instance: str, delta: float, names: list[str]) -> None:
    """Compare the table of identification with an experiment."""
    table = published(source).table
    for name in names:
        row = x.row("found", name)
        own = [
            s
            for s in table.itertuples()
            if (s.instance, s.delta, s.algorithm, s.variant) == (instance, delta, name, "")
        ]
        summary = min(own, key=lambda s: abs(math.log(s.epsilon / x.epsilon())))
        x.expect(f"budget of {name}", row["ε"], f"{summary.epsilon:g}")
        x.compare(f"pulls of {name}", row["mean"], summary.mean_time)
        for text, known in zip(
            row["central 90 %"].split(" to "), (summary.time_q05, summary.time_q95), strict=True
        ):
            x.compare(f"quantile of {name}", text, known)
        x.compare(f"errors of {name}", row["wrong"], summary.error_rate, 3)


@pytest.fixture
def x(new_page, base) -> Explorer:
    """The explorer at one of the papers' instances."""
    return Explorer(new_page(), base, C1)


def test_the_first_view(new_page, base):
    """The first screen's figure with its slider."""
    x = Explorer(new_page(), base)
    pair = isis2().only([0, 3], "ISIS-2, both or neither").superpopulation()
    x.expect("the first ε", x.epsilon(), 1.0)
    check_theory(x, pair.means, 0.05)
    check_found(x, "ours-trial-price", pair.name, 0.05, ["DP-LRE"])
    free = published("ours-trial-price").table.set_index("epsilon").loc[math.inf]
    x.compare("without privacy", x.row("found", "DP-LRE, no privacy")["mean"], free["mean_time"])
    none(x.problems)


def test_numbers(x):
    """Move each control, and compare after each."""
    page, c1, mu1, c4 = x.page, ss19("C1", 5).means, ja25("mu1").means, ss19("C4", 5).means
    slider = page.get_by_role("slider", name="Privacy budget")
    both = {"DP-SE": ("C1", "DP-SE", "", None), "DP-UCB": ("C1", "DP-UCB", "tree-exact", None)}
    check_regret(x, "ss19-fig6", c1, 50_000_000, both)
    check_found(x, "ours-bai-own", "mu2", 0.01, ["DP-TT", "DP-LRE"])
    page.get_by_role("button", name="ε = 0.5", exact=True).click()
    x.expect("after a budget's button", x.epsilon(), 0.5)
    check_regret(x, "ss19-fig5", c1, 50_000_000, both)
    for key, times in (("End", 1), ("ArrowLeft", 3), ("Home", 1), ("ArrowRight", 7)):
        for _ in range(times):
            slider.press(key)
        check_theory(x, c1, 0.01)
        (bound,) = re.findall(r"rate times log T: (.+?) (?:at|with)", x.said())
        rate = bounds.private_regret_rate(c1, x.epsilon())
        x.compare(f"bound on regret, in words, after {key}", bound, rate * math.log(50_000_000))
    x.choose("Instance", "mu1")
    x.expect("regret where there is none", page.locator("#x-regret-plot").is_visible(), False)
    x.choose("Probability of error", "0.001")
    check_theory(x, mu1, 0.001)
    check_found(x, "ours-bai-delta", "mu1", 0.001, ["DP-LRE"])
    for label, value in (("Instance", "C4"), ("Probability of error", "0.01"), ("Arms", "5")):
        x.choose(label, value)
    x.choose("Pulls", "10000000")
    page.get_by_role("checkbox", name="DP-KLUCB").check()
    page.get_by_role("checkbox", name="UCB", exact=True).uncheck()
    page.get_by_role("button", name="ε = 1", exact=True).click()
    check_theory(x, c4, 0.01)
    check_regret(x, "h-curves-far", c4, 10**7, {"DP-KLUCB": ("C4", "DP-KLUCB", "", None)})
    rows = [row[0] for row in page.evaluate(TABLE, "regret")]
    x.expect("an algorithm that was unchecked", "UCB" in rows, False)
    for label, value in (("Instance", "gap-0.05"), ("Arms", "10"), ("Pulls", "1000000")):
        x.choose(label, value)
    view = page.locator("#x-view").input_value()
    x.expect("against ε, where there are no curves", view, "budget")
    for c in published("h-map-all").table.itertuples():
        if (c.instance, c.n_arms, c.time, c.algorithm) == ("gap 0.05", 10, 10**6, "DP-KLUCB"):
            cell = x.row("regret", "DP-KLUCB")[f"ε = {c.epsilon:g}"]
            x.compare(f"DP-KLUCB at ε = {c.epsilon:g}", cell.partition(" (")[0], c.mean)
            rate = bounds.private_regret_rate(equal_gaps(10, 0.05).means, c.epsilon)
            cell = x.row("regret", "lower bound, ε-DP")[f"ε = {c.epsilon:g}"]
            x.compare(f"lower bound at ε = {c.epsilon:g}", cell, rate * math.log(10**6))
    none(x.problems)


def test_wrong_numbers_are_found(x):
    """One percent more is noticed."""
    wrong = characteristic_time(ss19("C1", 5).means, x.epsilon()).value * 1.01
    shown = x.row("time", f"at ε = {x.epsilon():g}")["value"]
    assert differs("T*", shown, wrong) and differs("share", "0.244", 0.245, 3)


def test_keyboard(x):
    """Reach and use every control by keyboard alone, and see where the focus is."""
    page = x.page
    page.get_by_role("combobox", name="Instance").focus()
    seen = {}
    for _ in range(60):
        now = page.evaluate(FOCUSED)
        if not now["ring"] and now["id"].startswith(("x-", "explorer-")):
            x.problems.append(f"no ring shows that {now['id']} has the focus")
        seen[now["id"]] = True
        if now["id"] == "x-epsilon":
            before = x.epsilon()
            page.keyboard.press("ArrowRight")
            x.expect("the slider moves", x.epsilon() > before, True)
            spoken = page.locator("#x-epsilon").get_attribute("aria-valuetext")
            x.expect("the slider's value, as it is spoken", spoken, f"ε = {x.epsilon():g}")
        if now["id"] == "x-budget-0":
            page.keyboard.press("Enter")
            budget = page.locator("#x-budget-0").inner_text()
            x.expect("Enter on a budget", f"{x.epsilon():g}", budget)
            x.expect("the focus stays", page.evaluate(FOCUSED)["id"], "x-budget-0")
        if now["id"] in ("x-regret-0", "x-found-1"):
            before = page.locator(f"#{now['id']}").is_checked()
            page.keyboard.press("Space")
            x.expect("Space on a box", page.locator(f"#{now['id']}").is_checked(), not before)
            x.expect("the focus stays", page.evaluate(FOCUSED)["id"], now["id"])
        if now["id"] == "explorer-table":
            page.keyboard.press("Enter")
        page.keyboard.press("Tab")
    wanted = ["x-instance", "x-arms", "x-epsilon", "x-horizon", "x-view", "x-budget-0"]
    wanted += ["x-regret-0", "x-delta", "x-found-0", "explorer-table", "explorer-scroll"]
    labels = {"explorer-scroll": "explorer-table"}  # a region has no id: its parent's class
    missing = [name for name in wanted if labels.get(name, name) not in seen]
    x.expect("controls that Tab does not reach", missing, [])
    x.expect("tables that opened", page.locator("details.explorer-table[open]").count(), 4)
    page.locator("#x-view").focus()
    page.keyboard.press("ArrowDown")
    x.expect("a menu by keyboard", page.locator("#x-view").input_value(), "budget")
    none(x.problems)


def test_addresses(x, base):
    """Open what an address keeps, and addresses that make no sense."""
    x.choose("Instance", "C4")
    x.choose("Pulls", "10000000")
    x.page.get_by_role("checkbox", name="UCB", exact=True).uncheck()
    for label, value in (("Instance", "gap-0.05"), ("Arms", "10"), ("Pulls", "1000000")):
        x.choose(label, value)
    said, address = x.said(), x.page.url
    again = Explorer(x.page, base, "#" + address.partition("#")[2])
    x.expect("what the address keeps", again.said(), said)
    first = Explorer(x.page, base).said()
    x.expect("what a pull is", re.findall(r"(\w+) on average", first)[:1], ["patients"])
    odd = "#instance=none&k=-3&e=-1&t=&view=sky&d=2"
    x.expect("an address that makes no sense", Explorer(x.page, base, odd).said(), first)
    odd = "#instance=C2&k=7&e=1e9&t=1&regret=&found="
    said = Explorer(x.page, base, odd).said()
    x.expect("an empty choice", "no algorithm of those chosen" in said, True)
    x.expect("the greatest ε", x.epsilon(), 125.0)
    drawn = Explorer(x.page, base, C1).page.locator(".explorer-plot svg[role=img][aria-label]")
    x.expect("figures with a description", drawn.count(), 4)
    none(x.problems + again.problems)


def test_without_scripts(new_page, base):
    page = new_page(java_script_enabled=False)
    page.goto(f"{base}/{PAGE}", wait_until="load")
    assert page.get_by_text("What follows needs a script").is_visible()
    assert not page.locator("#x-form").is_visible()


def test_without_data(new_page, base):
    page = new_page()
    page.route("**/explorer-data.js", lambda route: route.abort())
    page.goto(f"{base}/{PAGE}", wait_until="load")
    page.wait_for_timeout(300)
    assert "cannot be read" in page.locator("#x-problem").inner_text()


def test_without_the_data_of_an_instance(new_page, base):
    """The instance that was chosen before stays."""
    page = new_page()
    page.route("**/explorer-data-C2.js", lambda route: route.abort())
    x = Explorer(page, base, C1)
    said = x.said()
    x.choose("Instance", "C2")
    assert "(explorer-data-C2.js)" in page.locator("#x-problem").inner_text()
    assert (page.locator("#x-instance").input_value(), x.said()) == ("C1", said)
    x.choose("Instance", "C3")
    assert not page.locator("#x-problem").is_visible()
    none(x.problems)


def test_on_a_disk(new_page, html):
    """Open the file itself, without a server."""
    x = Explorer(new_page(), html.as_uri())
    assert x.page.locator("#x-form").is_visible()
    x.choose("Instance", "C4")
    assert x.said().startswith("C4: ")
    none(x.problems)
