"""A further kind of experiment takes a cell, a setting and a table, and nothing else."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, Cell, Experiment, Setting
from dpbandits.experiments.tables import Group, Summary, Table, rounded

ID = "toy-means"


@dataclass(frozen=True)
class Die:
    sides: int


def throw(die, n_throws, seeds):
    rolls = [np.random.default_rng(seed).integers(die.sides, size=n_throws) for seed in seeds]
    return {"rolls": np.array(rolls)}


@dataclass(frozen=True)
class ToyCell(Cell):
    ENTRY: ClassVar = (__name__, "throw")

    die: Die
    n_throws: int
    n_runs: int

    @property
    def parts(self):
        return (self.die,)

    @property
    def title(self):
        return f"{self.die.sides} sides"

    def configuration(self):
        return {"sides": self.die.sides, "throws": self.n_throws}

    def play(self, seeds):
        return throw(self.die, self.n_throws, seeds)

    def assemble(self, arrays):
        return arrays["rolls"]


class ToyLabels(NamedTuple):
    panel: str
    sides: int


@dataclass(frozen=True)
class ToySetting(Setting):
    experiment: str
    panel: str
    sides: int
    cell: ToyCell

    @property
    def labels(self):
        return ToyLabels(self.panel, self.sides)


@dataclass(frozen=True)
class ToySummary(Summary):
    where: ToyLabels
    mean: float

    @property
    def labels(self):
        return self.where

    def same_as(self, other):
        return rounded(self.mean) == rounded(other.mean)


@dataclass(frozen=True)
class ToyGroup(Group):
    labels: ToyLabels
    means: np.ndarray

    @property
    def n_runs(self):
        return self.means.size

    def take(self, rows):
        return dataclasses.replace(self, means=self.means[rows])

    def same_as(self, other):
        return np.allclose(self.means, other.means)

    def headline(self):
        return [self.means]


@dataclass(frozen=True)
class ToyTable(Table):
    kind: ClassVar = "toy"
    LABELS: ClassVar = ToyLabels
    SUMMARY: ClassVar = ("mean",)
    RUNS: ClassVar = ("run", "mean")

    def summaries(self, pairs):
        return tuple(ToySummary(setting.labels, float(rolls.mean())) for setting, rolls in pairs)

    def replicates(self, pairs):
        return tuple(ToyGroup(setting.labels, rolls.mean(axis=1)) for setting, rolls in pairs)

    def about(self, preset, settings):
        return {}

    def summary_rows(self, summary):
        yield [rounded(summary.mean)]

    def read_summary(self, labels, rows):
        return ToySummary(labels, float(rows[0][0]))

    def run_rows(self, group):
        for i, mean in enumerate(group.means):
            yield [str(i), repr(float(mean))]

    def read_runs(self, labels, rows):
        return ToyGroup(labels, np.array([float(row[1]) for row in rows]))


def settings(experiment, preset):
    for sides in (6, 20):
        yield ToySetting(experiment.id, "a", sides, ToyCell(Die(sides), preset.n_runs, 25))


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    experiment = Experiment(ID, "Dice", "a test", {"a": "dice"}, "sides", settings, ToyTable())
    monkeypatch.setitem(EXPERIMENTS, ID, experiment)


def test_it_runs_resumes_and_is_selected(tmp_path):
    results = experiments.run(ID, "smoke", cache=tmp_path)
    again = experiments.run(ID, "smoke", cache=tmp_path, n_jobs=2)
    assert again.seconds == results.seconds
    ((setting, rolls),) = results.select(sides=20)
    assert rolls.shape == (25, 3)
    assert np.array_equal(rolls, again[setting])
    both = experiments.run([ID, "ss19-fig1"], "smoke")
    assert [setting.sides for setting, _ in both.select(experiment=ID)] == [6, 20]


def test_its_data_is_written_compared_read_and_checked(tmp_path):
    results = experiments.run(ID, "smoke")
    assert experiments.write(results, tmp_path).name == "not compared"
    assert experiments.write(results, tmp_path).name == "identical"
    data = experiments.load(ID, tmp_path)
    assert [summary.labels for summary in data.summaries] == [("a", 6), ("a", 20)]
    assert set(data.manifest["code"]) == {"Die"}
    assert experiments.spot_check(ID, folder=tmp_path).passed
    for rolls in results.values():
        rolls += 100
    assert experiments.write(results, tmp_path / "other", tmp_path).name == "differs"


def test_its_figure_is_found_by_its_kind(monkeypatch):
    drawn = []
    figures = {**plotting.dispatch._FIGURES, "toy": (__name__, "toy_figure")}
    monkeypatch.setattr(plotting.dispatch, "_FIGURES", figures)
    monkeypatch.setitem(
        globals(), "toy_figure", lambda source, **options: drawn.append((source, options))
    )
    results = experiments.run(ID, "smoke")
    plotting.draw(results, panels=["a"])
    assert drawn == [(results, {"panels": ["a"]})]


def test_it_is_no_experiment_on_regret():
    with pytest.raises(ValueError, match="source='toy-means' is on toy; allowed: .* regret"):
        plotting.regret_figure(experiments.run(ID, "smoke"))
