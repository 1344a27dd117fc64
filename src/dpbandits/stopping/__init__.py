"""Stopping rules: estimate a mean to a relative error, with as few samples as possible."""

from dpbandits.stopping import (
    base,
    bernstein,
    ebgstop,
    estimates,
    halting_laws,
    hoeffding,
    nas,
    promised,
)
from dpbandits.stopping.base import *  # noqa: F403 (the names that a module lists)
from dpbandits.stopping.bernstein import *  # noqa: F403
from dpbandits.stopping.ebgstop import *  # noqa: F403
from dpbandits.stopping.estimates import *  # noqa: F403
from dpbandits.stopping.halting_laws import *  # noqa: F403
from dpbandits.stopping.hoeffding import *  # noqa: F403
from dpbandits.stopping.nas import *  # noqa: F403
from dpbandits.stopping.promised import *  # noqa: F403

__all__: list[str] = []
__all__ += base.__all__
__all__ += bernstein.__all__
__all__ += ebgstop.__all__
__all__ += estimates.__all__
__all__ += halting_laws.__all__
__all__ += hoeffding.__all__
__all__ += nas.__all__
__all__ += promised.__all__
