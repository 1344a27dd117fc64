"""Workers elsewhere: joblib's work sent to a Dask cluster."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import joblib

__all__ = ["dask_workers"]


@contextmanager
def dask_workers(address: str | None, n_jobs: int = 1) -> Iterator[None]:
    """Send the work of the block to a Dask cluster; with None, leave it to this machine.

    Parameters
    ----------
    address : str or None
        Address of a scheduler, or "local" for a cluster of processes on this machine.
    n_jobs : int
        Number of workers of a local cluster, −1 for one per processor.

    Raises
    ------
    ValueError
        If Dask is not installed, or no scheduler answers.
    """
    if address is None:
        yield
        return
    try:
        distributed = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise ValueError(
            f"dask={address!r} needs Dask; allowed after: pip install 'dpbandits[dask]'"
        ) from None
    with ExitStack() as stack:
        scheduler: object = address
        if address == "local":
            scheduler = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=os.cpu_count() if n_jobs == -1 else n_jobs,
                    threads_per_worker=1,
                    dashboard_address=None,
                )
            )
        try:
            stack.enter_context(distributed.Client(scheduler, timeout="10s"))
        except (OSError, ValueError, TypeError):
            raise ValueError(
                f"dask={address!r} does not answer; "
                "allowed: 'local', or the address of a scheduler, such as tcp://host:8786"
            ) from None
        stack.enter_context(joblib.parallel_config(backend="dask"))
        yield
