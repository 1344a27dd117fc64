"""Group-sequential trials on the command line: plans, looks with their state, pictures."""

import dataclasses
import json
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt

import dpbandits as dpb
from dpbandits import _files
from dpbandits.cli import _trials
from dpbandits.cli.commands import main
from dpbandits.plotting import group_plan_figure, running_trial_figure
from dpbandits.plotting.group_pictures import stopping_limits
from dpbandits.trials import GroupSequential

PLAN = "plan --design group-sequential --means 0.9,0.7 --looks 2"
DESIGN = GroupSequential(per_look=20, critical=2.1, epsilon=1.0, looks=3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with a trial that waits for its first look."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial.json").write_text(dpb.RunningTrial(DESIGN).to_json())
    return tmp_path


def said(capsys, words, status=0):
    assert main(words.split()) == status
    out, err = capsys.readouterr()
    return err if status else out


def test_a_plan_is_that_of_python(capsys, folder):
    plan = dpb.plan_group_sequential(0.9, 0.7, epsilon=1.0, looks=2)
    words = f"{PLAN} --epsilon 1 --state new.json --plot p.svg"
    assert said(capsys, words).startswith(f"{plan}\n\nnew.json counts survivors. Each look")
    assert dpb.RunningTrial.from_json((folder / "new.json").read_text()).design == plan.design
    assert (folder / "p.svg").read_bytes().startswith(b"<?xml")
    told = json.loads(said(capsys, f"{PLAN} --epsilon 1 --json"))
    assert told == json.loads(json.dumps(plan.as_dict()))
    assert "exists" in said(capsys, f"{PLAN} --epsilon 1 --state new.json", status=2)
    assert said(capsys, "look new.json").count("no look yet") == 1


def test_a_fixed_design_is_one_look_and_counts_are_shares(capsys):
    words = "plan --design fixed --deaths --epsilon inf --alpha 0.025 --counts"
    plan = dpb.plan_group_sequential(0.9, 0.7, alpha=0.025, looks=1)
    for counts in ("treatment=10/100,control=30/100", "control=30/100,treatment=10/100"):
        assert said(capsys, f"{words} {counts}").strip() == str(plan)


def test_the_arms_of_a_plan_and_of_its_looks_cannot_be_mistaken(capsys, folder):
    """Both name the arms; the better one as control, no names, or survivors for deaths: refused."""
    begin = "plan --design group-sequential --epsilon inf --looks 2 --deaths --state t.json"
    err = said(capsys, f"{begin} --counts treatment=30/100,control=10/100", status=2)
    assert "has the treatment worse" in err and not (folder / "t.json").exists()
    out = said(capsys, f"{begin} --counts treatment=10/100,control=30/100")
    m = dpb.plan_group_sequential(0.9, 0.7, looks=2).design.per_look
    assert "treatment 0.9, control 0.7" in out
    (line,) = (each for each in out.splitlines() if each.startswith("  dpbandits look"))
    copied = line.replace("N", "1").replace(f"treatment=D/{m}", f"treatment=3/{m}")
    copied = copied.replace(f"control=D/{m}", f"control=9/{m}").removeprefix("  dpbandits ")
    for words, told in (
        (f"look t.json --number 1 --counts 3/{m},9/{m} --deaths", "cannot be read"),
        (copied.replace(",", f",other=1/{m},"), "cannot be read"),
        (copied.replace("control=", "treatment="), "cannot be read"),
        (copied.removesuffix(" --deaths"), "counts deaths; allowed: --deaths"),
    ):
        assert told in said(capsys, words, status=2)
    assert dpb.RunningTrial.from_json((folder / "t.json").read_text()).releases == ()
    out = said(capsys, copied)
    assert "planned with 10.0% deaths of the treatment, 30.0% of the control" in out
    assert "released deaths treatment 3, control 9; score" in out
    trial = dpb.RunningTrial.from_json((folder / "t.json").read_text())
    assert trial.releases == ((m - 3, m - 9),) and trial.assumed == pytest.approx((0.9, 0.7))


def test_what_is_published_fits_the_plan_and_the_reason_to_stop(capsys, folder):
    """A test of two sides at 5 % goes with an interval of 95 %; futility has the repeated one."""
    said(capsys, f"{PLAN} --epsilon 1 --sides 2 --state two.json")
    state = json.loads((folder / "two.json").read_text())
    assert state["level"] == 0.95 and state["order of the arms"] == ["treatment", "control"]
    state["releases"] = [[state["design"]["per_look"], 5]]
    (folder / "two.json").write_text(json.dumps(state))
    assert "95% interval" in said(capsys, "look two.json")
    assert "80% interval" in said(capsys, "look two.json --level 0.8")
    idle = GroupSequential(per_look=20, critical=2.1, epsilon=1.0, looks=3, futility=0.0)
    (folder / "trial.json").write_text(dpb.RunningTrial(idle, [(15, 16)]).to_json())
    out = said(capsys, "look trial.json")
    assert "stop for futility, or go on" in out and "no other interval is valid" in out
    assert "median-unbiased" not in out
    said(capsys, "look trial.json --number 2 --counts treatment=15/20,control=14/20")


def test_looks_release_once_and_keep_what_they_released(capsys, folder):
    out = said(
        capsys, "look trial.json --number 1 --counts treatment=2/20,control=3/20 --deaths --json"
    )
    state = (folder / "trial.json").read_text()
    (release,) = dpb.RunningTrial.from_json(state).releases
    first = json.loads(out)["looks"][0]
    assert [first["treatment"], first["control"]] == list(release)
    for words, told in (
        ("look trial.json --number 1 --counts treatment=2/20,control=3/20", "look=1 is released"),
        (
            "look trial.json --number 3 --counts treatment=2/20,control=3/20",
            "look=3 leaves out look 2",
        ),
        (
            "look trial.json --number 2 --counts treatment=2/21,control=3/20",
            "21 patients; allowed: the 20",
        ),
        ("look trial.json --number 2 --counts treatment=2/20", "cannot be read"),
        (
            "look trial.json --number 2 --counts treatment=22/20,control=3/20",
            "counts=22 is out of range",
        ),
        ("look trial.json --number 2", "number and counts go together"),
        ("look absent.json --number 1 --counts treatment=2/20,control=3/20", "No such file"),
    ):
        err = said(capsys, words, status=1 if "absent" in words else 2)
        assert told in err and err.count("\n") == 1
        assert (folder / "trial.json").read_text() == state
        assert not list(folder.glob("*.lock"))


def test_a_look_that_cannot_be_kept_is_not_shown(capsys, monkeypatch, folder):
    """What is printed is on the disk already: the release of a crash is never drawn again."""

    def fail(path, content):
        raise OSError(28, f"cannot write {path}")

    monkeypatch.setattr(_trials, "write_atomically", fail)
    assert (
        main(["look", "trial.json", "--number", "1", "--counts", "treatment=2/20,control=3/20"])
        == 1
    )
    assert capsys.readouterr().out == ""
    assert not list(folder.glob("*.lock"))


def test_two_looks_at_once_are_one(capsys, folder):
    with _files.locked(folder / "trial.json"):
        look = "look trial.json --number 1 --counts treatment=2/20,control=3/20"
        err = said(capsys, look, status=2)
    assert (
        "is in use" in err
        and dpb.RunningTrial.from_json((folder / "trial.json").read_text()).releases == ()
    )


def test_an_ended_trial_says_what_may_be_published(capsys, folder):
    trial = dpb.RunningTrial(DESIGN, [(19, 15), (20, 8)])
    (folder / "trial.json").write_text(trial.to_json())
    out = said(capsys, "look trial.json --deaths --plot p.svg")
    assert "released deaths treatment 1, control 5" in out and "the treatment is better" in out
    found = trial.estimate()
    assert f"median-unbiased {100 * found.median:.1f}, 90% interval" in out
    assert "repeated interval" in out and (folder / "p.svg").is_file()
    told = json.loads(said(capsys, "look trial.json --json"))
    assert told["estimate"]["low"] == pytest.approx(found.low)
    err = said(capsys, "look trial.json --number 3 --counts treatment=19/20,control=9/20", status=2)
    assert "look=3 comes after the end" in err


# ------------------------------------------------------------------ whatever `look` is given
STATE = dpb.RunningTrial(DESIGN, [(15, 14)]).to_json()
LOOK = ["look", "trial.json", "--number=2", "--counts=treatment=12/20,control=11/20"]
FIELDS = [field.name for field in dataclasses.fields(GroupSequential)]
VALUES = (None, "x", -1, 0, 10**400, math.nan, [], {}, True)
RELEASES = (None, "x", 3, [1], [None], [[1]], [[1, 2, 3]], [["a", 1]], [[1.5, 2]], [[True, 1]])
RELEASES += ([[math.nan, 1]], [[math.inf, 1]], [[10**400, 1]], [[-(10**31), 1]], [[1, 1]] * 4)
SPOILT = {  # texts of states that no trial has
    **{f"the first {n} letters": STATE[:n] for n in (0, 1, 10, 50, len(STATE) - 5)},
    "another version": STATE.replace("trial, 1", "trial, 2"),
    "another kind": "[]",
    "a number": "3",
    "no JSON": "\0",
    "too deep": "[" * 10**5,
    "too many digits": '{"format": ' + "9" * 5000 + "}",
    "another field": STATE.replace('"looks"', '"visits"'),
}


def changed(part, value):
    state = json.loads(STATE)
    (state["design"] if part in FIELDS else state)[part] = value
    return json.dumps(state)


SPOILT |= {f"{p}={v!r:.9}": changed(p, v) for p in ("format", "design") for v in VALUES}
PLANNED = ("events", "level", "assumed shares of success")  # null: the plan is not known
SPOILT |= {f"{p}={v!r:.9}": changed(p, v) for p in PLANNED for v in VALUES if v is not None}
MORE = ("events", "level", "assumed shares of success")
SPOILT |= {f"{p}={v!r:.9}": changed(p, v) for p in MORE for v in VALUES[1:]}
SPOILT |= {f"releases={v!r:.20}": changed("releases", v) for v in RELEASES}
SPOILT |= {f"{p}={v!r:.9}": changed(p, v) for p in FIELDS if p != "futility" for v in VALUES}
WORDS = ["", "x", "nan", "1e400", "-1", "0", "None", "9" * 5000, "1.5", "1e308", "12/20,11/20,1/1"]
PAIRS = ["a/b,c/d", "-1/20,3/20", "21/20,3/20", "1/-20,1/20", "1/1,1/1", "1e1/20,1/20"]
PAIRS += [f"{'9' * 4000}/20,1/20", f"1/{'9' * 4000},1/20", "nan/20,1/20", "1/1/20,1/20", ","]
COUNTS = [*WORDS, "/", "12/20", "12/20,11/20", "treatment=12/20", "control=12/20", "=,="]
COUNTS += ["treatment={},control={}".format(*pair.split(",")) for pair in PAIRS]
COUNTS += [f"treatment=12/20,control=11/20,{more}" for more in ("control=11/20", "x=1/20", "")]


def refused(capsys, folder, words):
    """Whether a look is refused in one line, and leaves the trial as it was."""
    state = (folder / "trial.json").read_bytes()
    status = main(words)
    out, err = capsys.readouterr()
    one = status == 2 and out == "" and err.startswith("dpbandits: ") and err.count("\n") == 1
    kept = (folder / "trial.json").read_bytes() == state and not list(folder.glob("*.lock"))
    return one and len(err) < 620 and kept


def test_a_spoilt_state_releases_nothing(capsys, folder):
    for told, text in SPOILT.items():
        (folder / "trial.json").write_text(text, encoding="utf-8")
        assert refused(capsys, folder, LOOK), told
    (folder / "trial.json").write_bytes(b"\xff\xfe\x00")
    assert refused(capsys, folder, LOOK) and refused(capsys, folder, LOOK[:2])
    (folder / "trial.json").write_text(STATE)
    assert not refused(capsys, folder, LOOK) and len(SPOILT) > 80


def test_whatever_an_option_of_a_look_is_given_it_releases_nothing(capsys, folder):
    (folder / "trial.json").write_text(STATE)
    look, number, counts = LOOK[:2], LOOK[2], LOOK[3]
    tried = [[*look, f"--number={word}", counts] for word in [*WORDS, "1", "3", "4"]]
    tried += [[*look, number, f"--counts={word}"] for word in COUNTS]
    tried += [[*look, f"--level={word}"] for word in WORDS]
    tried += [[*look, f"--plot={word}"] for word in ("", "x", "x.gif")] + [[*look, number]]
    for words in tried:
        assert refused(capsys, folder, words), words[2:]
    assert not refused(capsys, folder, LOOK)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("plan --design fixed --means 0.7,0.9 --epsilon 1", "has the treatment worse"),
        ("plan --design fixed --counts 9/10,7/10 --epsilon 1", "cannot be read"),
        (f"{PLAN} --epsilon 1 --delta 0.1", "delta=0.1 is for an adaptive design"),
        ("plan --means 0.9,0.7 --epsilon 1 --delta 0.1 --looks 2", "looks=2 is for a test"),
        ("plan --means 0.9,0.7 --epsilon 1 --delta 0.1 --certified", "certified=True is for"),
        ("plan --design fixed --means 0.9,0.7 --epsilon 1 --looks 2", "looks=2 is for a group"),
        ("plan --design fixed --means 0.9,0.8,0.7 --epsilon 1", "does not have two arms"),
        ("plan --design fixed --means 0.9,0.9 --epsilon 1", "treatment=0.9 is not greater"),
        ("plan --design fixed --means 0.9,0.7 --deaths --epsilon 1", "deaths=True is about counts"),
        ("plan --means 0.9,0.7 --epsilon 1", "delta is missing; allowed: --delta"),
    ],
)
def test_bad_options_are_one_line(words, told, capsys):
    err = said(capsys, words, status=2)
    assert told in err and err.count("\n") == 1


def test_the_picture_of_a_trial_has_its_releases_and_boundary():
    trial = dpb.RunningTrial(DESIGN, [(19, 15), (20, 8)])
    figure = running_trial_figure(trial)
    (axes,) = figure.axes
    lines = [line.get_ydata().tolist() for line in axes.get_lines()]
    assert [4.0, 16.0] in lines and [16.0] in lines  # the ring is at the stop
    limits = stopping_limits(DESIGN, [(19, 15), (39, 23)])
    variance = 2 * 40 * (62 / 80) * (18 / 80) + 2 * DESIGN.noise_variance
    assert limits[1] == pytest.approx(2.1 * math.sqrt(variance)) and limits[1] < 16
    assert DESIGN.score(2, 39, 23) == pytest.approx(16 / math.sqrt(variance))
    plt.close(figure)
    with pytest.raises(ValueError, match="look is missing"):
        running_trial_figure(dpb.RunningTrial(DESIGN))


def test_the_picture_of_a_plan_has_what_has_ended():
    plan = dpb.plan_group_sequential(0.9, 0.7, looks=2)
    figure = group_plan_figure(plan)
    (axes,) = figure.axes
    found = [line.get_ydata() for line in axes.get_lines()]
    for operating, y in zip((plan.effect, plan.half, plan.none), found, strict=True):
        np.testing.assert_allclose(y, 100 * np.cumsum(operating.stops))
    plt.close(figure)
