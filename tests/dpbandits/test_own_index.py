"""An index of one's own: what the decorator makes, and that its compiled loop is its program."""

import math
import subprocess
import sys

import numpy as np
import pytest
from statistical import same_law_of_counts

import dpbandits as dpb
from dpbandits.rewards.sources import FixedRewards
from dpbandits.testing import check_algorithm

TABLE = np.array([[1, 0, 1, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 1, 0, 0], [0.5] * 8])


@dpb.compiled
def narrow(total, pulls, t, c=0.5):
    """Pull the arm of the largest mean plus a narrow width."""
    return total / pulls + math.sqrt(c * math.log(t) / pulls)


@dpb.compiled
def ucb(total, pulls, t):
    return total / pulls + math.sqrt(2 * math.log(t) / pulls)


@dpb.compiled
def undefined(total, pulls, t):
    return math.nan if pulls > 1 else -pulls


@dpb.compiled
def wordy(total, pulls, t):
    return {"index": total}["index"] if pulls else str(total)


def test_it_is_a_class_like_any_other():
    assert narrow() == narrow(c=0.5) and narrow(2) != narrow(3)
    assert repr(narrow(2, epsilon=1.0)) == "narrow(c=2.0, epsilon=1.0)" and repr(ucb()) == "ucb()"
    assert narrow.label == "narrow" and narrow.__doc__.startswith(
        "Pull the arm of the largest mean"
    )
    assert narrow().index(3.0, 4, 10, 0.0) == 0.75
    assert str(narrow(epsilon=0.5).guarantee) == "ε = 0.5, central, event level"
    assert not narrow().guarantee.is_private
    for wrong in ({"c": "1"}, {"epsilon": 0}, {"epsilon": -1.0}):
        with pytest.raises(ValueError, match="allowed"):
            narrow(**wrong)
    for function in (lambda total, pulls: 0.0, lambda *a: 0.0, lambda t, p, n, *, c: 0.0, 5):
        with pytest.raises(ValueError, match="function"):
            dpb.compiled(function)


@pytest.mark.parametrize("algorithm", [narrow(0.1), narrow(2.0, epsilon=0.5), undefined()])
def test_the_loop_is_the_program_on_tables(algorithm):
    """To the bit: the rewards are given, and the noise is drawn in the same order."""
    for horizon in (3, 8):
        table = TABLE[:, :horizon]
        many = algorithm.draw_table(table, 20, np.random.default_rng(3))
        plain = algorithm.draw_table(table, 20, np.random.default_rng(3), "reference")
        assert (many == plain).all()


def test_it_plays_ucb():
    """The same index as `UCB`, on rewards that are read: the same pulls."""
    rewards = np.random.default_rng(2).random((3, 500))
    times = np.arange(1, 501)
    mine, own = (
        each.draw(FixedRewards(rewards), 500, times, np.random.default_rng(0), "reference").counts
        for each in (ucb(), dpb.UCB())
    )
    assert (mine == own).all()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [math.inf, 20.0])
def test_the_loop_has_the_law_of_the_program(epsilon):
    """False alarm 1e-6 each; another width is told apart."""
    instance, times, n_runs = dpb.instances.bernoulli([0.7, 0.5]), np.array([50, 150]), 800

    def pulls(algorithm, how, seed):
        runs = (
            algorithm.draw(instance, 150, times, np.random.default_rng([seed, k]), how).counts[:, 0]
            for k in range(n_runs)
        )
        return np.array(list(runs))

    plain = pulls(narrow(0.5, epsilon=epsilon), "reference", 1)
    assert same_law_of_counts(pulls(narrow(0.5, epsilon=epsilon), None, 2), plain)
    assert not same_law_of_counts(pulls(narrow(20.0, epsilon=epsilon), None, 3), plain)


def test_it_passes_the_checks_of_an_algorithm():
    found = check_algorithm(narrow(epsilon=1.0), n_runs=1000)
    assert found.audit is not None and not found.audit.convicted


def test_too_little_noise_is_found():
    """A subclass that declares an eighth of the budget that its noise is for."""

    class Eighth(narrow):
        label, source = "an eighth", "a test"

        @property
        def guarantee(self):
            return dpb.PrivacyGuarantee("central", self.epsilon / 8)

    assert dpb.audit(Eighth(c=0.1, epsilon=8.0), n_runs=2000, seed=1).convicted


def test_what_cannot_be_compiled_is_said():
    arms = dpb.instances.bernoulli([0.9, 0.5])
    with pytest.raises(ValueError, match=r"wordy\.index cannot be compiled: .+; allowed: numbers"):
        dpb.simulate(wordy(), arms, 100, n_runs=1)
    assert dpb.simulate(wordy(), arms, 100, n_runs=1, how="reference").pulls.sum() == 100


def test_workers_run_a_class_of_the_main_program(tmp_path):
    """It is pickled by value, and its loop is compiled there: the bits are the same."""
    program = tmp_path / "mine.py"
    program.write_text(
        "import math\n"
        "import dpbandits as dpb\n\n\n"
        "@dpb.compiled\n"
        "def mine(total, pulls, t, c):\n"
        "    return total / pulls + math.sqrt(c * math.log(t) / pulls)\n\n\n"
        'if __name__ == "__main__":\n'
        "    arms = dpb.instances.bernoulli([0.9, 0.5])\n"
        "    runs = [dpb.simulate(mine(1.0), arms, 500, 6, n_jobs=n) for n in (1, 2)]\n"
        "    print([each.how for each in runs], (runs[0].pulls == runs[1].pulls).all())\n"
    )
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert found.stdout == "['compiled', 'compiled'] True\n"
