"""The cache: whole files or none, and a damaged file is noticed."""

import errno
import os
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbandits.cache import Cache, CacheWarning

KEY = {"algorithm": {"name": "DPSE", "epsilon": 0.1}, "seed": [0, 1, 2]}
ARRAYS = {"regret": np.linspace(0, 1, 7), "pulls": np.arange(6).reshape(2, 3)}


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "deep" / "cache")


def test_round_trip(cache):
    assert cache.get(KEY) is None
    path = cache.put(KEY, ARRAYS)
    found = cache.get(dict(reversed(KEY.items())))
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    with np.load(path) as archive:
        assert np.array_equal(archive["pulls"], ARRAYS["pulls"])
    assert cache.get({**KEY, "seed": [0, 1, 3]}) is None
    assert os.listdir(cache.folder) == [path.name]


@given(st.data())
def test_every_torn_or_corrupt_file_is_noticed(tmp_path_factory, data):
    cache = Cache(tmp_path_factory.mktemp("cache"))
    path = cache.put(KEY, ARRAYS)
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 2), label="place")
    if data.draw(st.booleans(), label="torn"):
        path.write_bytes(content[:place])
    else:
        changed = bytearray(content)
        changed[place] ^= data.draw(st.integers(1, 255), label="flip")
        path.write_bytes(bytes(changed))
    with pytest.warns(CacheWarning, match="computed again"):
        assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    assert cache.get(KEY) is not None


def test_a_file_under_another_name_is_noticed(cache):
    path = cache.put(KEY, ARRAYS)
    other = {**KEY, "seed": 5}
    path.rename(cache.path(other))
    with pytest.warns(CacheWarning, match="another key"):
        assert cache.get(other) is None


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_a_fault_while_writing_leaves_nothing(cache, monkeypatch, step, fault):
    def fail(*args):
        raise fault

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(fault), match="No space left" if fault.args else None):
        cache.put(KEY, ARRAYS)
    assert list(cache.folder.iterdir()) == []
    monkeypatch.undo()
    cache.put(KEY, ARRAYS)
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(fault)):
        cache.put(KEY, {"regret": np.zeros(1)})
    assert cache.get(KEY)["regret"].size == 7


def test_a_full_disk_names_the_file(cache, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"cannot write .*\.npz: No space left on device"):
        cache.put(KEY, ARRAYS)


def test_leftovers_of_a_killed_run_are_swept(cache):
    path = cache.put(KEY, ARRAYS)
    old, young = (cache.folder / f".{name}.npz.abc" for name in ("old", "young"))
    for leftover in (old, young):
        leftover.write_bytes(b"half")
    os.utime(old, (0, time.time() - 7200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Cache(cache.folder).get(KEY) is not None
    assert sorted(p.name for p in cache.folder.iterdir()) == sorted([path.name, young.name])
