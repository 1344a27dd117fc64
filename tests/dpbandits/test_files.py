"""A file's name is not its identity: links, modes, owners, pipes, devices, and several names."""

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

import dpbandits as dpb
from dpbandits import _files
from dpbandits._files import check_writable, renew, write_atomically
from dpbandits.cli.commands import main

TRIAL = dpb.GroupSequential(per_look=20, critical=2.2, epsilon=1.0, looks=3)
COUNTS = "treatment=15/20,control=14/20"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and modes of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002, 0o027])
def test_a_new_file_has_the_mode_that_the_user_wants(mask):
    before = os.umask(mask)
    try:
        write_atomically("new/data.csv", "x")
    finally:
        os.umask(before)
    assert mode("new/data.csv") == 0o666 & ~mask


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o755, 0o666])
def test_a_file_that_exists_keeps_its_mode_and_owner(kept, folder):
    (folder / "data.csv").write_text("old")
    os.chmod("data.csv", kept)
    if os.getuid() == 0:
        os.chown("data.csv", 12345, 23456)
    owner = os.stat("data.csv")[4:6]
    renew(folder / "data.csv", b"new")
    assert mode("data.csv") == kept and os.stat("data.csv")[4:6] == owner
    assert (folder / "data.csv").read_text() == "new" and os.listdir() == ["data.csv"]


def test_what_nobody_is_to_write_is_refused_also_for_root(folder):
    (folder / "data.csv").write_text("old")
    os.chmod("data.csv", 0o400)
    for refuse in (check_writable, lambda path: write_atomically(path, "new")):
        with pytest.raises(OSError, match=r"cannot write data\.csv: Permission denied") as caught:
            refuse("data.csv")
        assert caught.value.errno == errno.EACCES
    assert (folder / "data.csv").read_text() == "old" and mode("data.csv") == 0o400


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(there, folder):
    (folder / "far").mkdir()
    if there:
        (folder / "far/data.csv").write_text("old")
    os.symlink("far/data.csv", "one")
    os.symlink("one", "two")
    write_atomically("two", "new")
    assert os.readlink("two") == "one" and os.readlink("one") == "far/data.csv"
    assert (folder / "far/data.csv").read_text() == "new"
    os.symlink("round", "round")
    with pytest.raises(OSError, match="cannot write round"):
        write_atomically("round", "new")


def test_all_names_of_a_file_are_written(folder):
    (folder / "one").write_text("old and longer")
    os.link("one", "two")
    write_atomically("one", "new")
    assert os.path.samefile("one", "two") and (folder / "two").read_text() == "new"


def test_a_pipe_and_a_device_are_written_to_and_stay(folder):
    os.mkfifo("pipe")
    seen = []
    reader = threading.Thread(target=lambda: seen.append((folder / "pipe").read_text()))
    reader.start()
    check_writable("pipe")
    write_atomically("pipe", "through")
    reader.join()
    assert seen == ["through"] and stat.S_ISFIFO(os.stat("pipe").st_mode)
    before = os.stat("/dev/null")
    check_writable("/dev/null")
    write_atomically("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and os.stat("/dev/null")[:6] == before[:6]
    with pytest.raises(OSError, match=r"cannot write /dev/full: No space"):
        write_atomically("/dev/full", "x")
    for nowhere in (".", "/"):
        with pytest.raises(OSError, match="Is a directory"):
            check_writable(nowhere)


@pytest.mark.parametrize("redirected", ["pipe", "file"])
def test_what_is_written_to_stdout_comes_after_what_is_printed(redirected, folder):
    """Replacing /dev/stdout would lose what was printed there, or, as root, the device."""
    program = (
        f"import runpy; files = runpy.run_path({_files.__file__!r})\n"  # and nothing else
        "print('said'); files['write_atomically']('/dev/stdout', 'written\\n'); print('more')"
    )
    with open("out.txt", "wb") as out:
        where = subprocess.PIPE if redirected == "pipe" else out
        ran = subprocess.run([sys.executable, "-c", program], stdout=where, check=True)
    text = ran.stdout if redirected == "pipe" else (folder / "out.txt").read_bytes()
    assert text == b"said\nwritten\nmore\n"


def test_a_long_name_and_a_new_file(folder):
    name = "x" * 250
    write_atomically(name, "x", new=True)
    with pytest.raises(OSError, match="File exists"):
        write_atomically(name, "y", new=True)
    assert os.listdir() == [name] and (folder / name).read_text() == "x"


def test_the_command_line_writes_to_pipes_and_keeps_modes(capsys, folder):
    words = ["estimate", "NAS", "--set", "alpha=0.5", "--set", "beta=0.05", "--runs", "2", "--csv"]
    (folder / "data.csv").touch(0o600)
    os.symlink("data.csv", "link.csv")
    assert main([*words, "link.csv"]) == 0
    assert os.path.islink("link.csv") and mode("data.csv") == 0o600
    assert (folder / "data.csv").read_text().startswith("samples,")
    assert main([*words, "/dev/null"]) == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    picture = ["run", "UCB", "--means", "0.9,0.5", "--horizon", "100", "--runs", "2", "--plot"]
    for ending in ("svg", "png"):
        before = os.umask(0o077)
        try:
            assert main([*picture, f"own.{ending}"]) == 0
        finally:
            os.umask(before)
        assert mode(f"own.{ending}") == 0o600


# ------------------------------------------------------------------------- the state of a trial


@pytest.fixture
def state(folder):
    (folder / "state").mkdir()
    (folder / "state/trial.json").write_text(dpb.RunningTrial(TRIAL).to_json())
    os.chmod("state/trial.json", 0o600)
    os.symlink("state/trial.json", "link.json")
    os.symlink(folder / "state", "way")
    return folder / "state/trial.json"


def look(path, number):
    return main(["look", str(path), "--number", str(number), "--counts", COUNTS])


def releases(state):
    return dpb.RunningTrial.from_json(state.read_text()).releases


NAMES = ("state/trial.json", "link.json", "way/trial.json", "state/../way/trial.json")


@pytest.mark.parametrize("first", NAMES)
def test_a_look_is_released_once_whatever_name_the_trial_has(first, capsys, state, folder):
    assert look(first, 1) == 0
    kept = state.read_text()
    for name in NAMES:
        assert look(name, 1) == 2 and "look=1 is released" in capsys.readouterr().err
    assert state.read_text() == kept and len(releases(state)) == 1
    assert os.path.islink("link.json") and mode(state) == 0o600
    assert os.listdir("state") == ["trial.json"]


@pytest.mark.parametrize("mine", NAMES)
def test_a_trial_is_locked_whatever_name_it_has(mine, capsys, state):
    for other in NAMES:
        with _files.locked(other):
            assert look(mine, 1) == 2
        assert "is in use; allowed: one look at a time" in capsys.readouterr().err
    assert releases(state) == ()
    assert look(mine, 1) == 0  # a lock goes with who has it


def test_a_trial_of_two_names_is_refused(capsys, state):
    """A look would renew one, and by the other the same look could be released again."""
    os.link(state, "other.json")
    for name in ("other.json", "link.json"):
        assert look(name, 1) == 2
        assert "is a file with 2 names (hard links)" in capsys.readouterr().err
    assert releases(state) == ()


def test_a_trial_that_is_no_file_or_not_to_be_written_is_refused(capsys, state, monkeypatch):
    monkeypatch.setattr(dpb.RunningTrial, "look", None)  # nothing is drawn
    os.mkfifo("pipe")
    for name in ("pipe", "/dev/null"):
        assert look(name, 1) == 2 and "is not a regular file" in capsys.readouterr().err
        assert main(["look", name]) == 2 and "is not a regular file" in capsys.readouterr().err
    os.chmod(state, 0o400)
    assert look("link.json", 1) == 1 and "Permission denied" in capsys.readouterr().err


def test_a_plan_begins_a_trial_where_none_is(capsys, folder):
    plan = "plan --design group-sequential --means 0.9,0.5 --epsilon inf --looks 2"
    words = [*plan.split(), "--state"]
    (folder / "old.json").write_text("old")
    os.symlink("old.json", "link.json")
    os.symlink("new.json", "dangling.json")
    for name in ("old.json", "link.json", "/dev/null"):
        assert main([*words, name]) == 2 and "exists" in capsys.readouterr().err
    assert main([*words, "dangling.json"]) == 0 and (folder / "new.json").is_file()
    assert (folder / "old.json").read_text() == "old"
