"""Upper and lower bounds, with the constants of their proofs."""

from dpbandits.bounds import (
    bernstein,
    binomial_elimination,
    elimination,
    lazy,
    one_look,
    promised,
    regret,
    stopping,
    td16,
    twzw22,
)
from dpbandits.bounds.bernstein import *  # noqa: F403 (the names that a module lists)
from dpbandits.bounds.binomial_elimination import *  # noqa: F403
from dpbandits.bounds.elimination import *  # noqa: F403
from dpbandits.bounds.lazy import *  # noqa: F403
from dpbandits.bounds.one_look import *  # noqa: F403
from dpbandits.bounds.promised import *  # noqa: F403
from dpbandits.bounds.regret import *  # noqa: F403
from dpbandits.bounds.stopping import *  # noqa: F403
from dpbandits.bounds.td16 import *  # noqa: F403
from dpbandits.bounds.twzw22 import *  # noqa: F403

__all__: list[str] = []
__all__ += bernstein.__all__
__all__ += binomial_elimination.__all__
__all__ += elimination.__all__
__all__ += lazy.__all__
__all__ += one_look.__all__
__all__ += promised.__all__
__all__ += regret.__all__
__all__ += stopping.__all__
__all__ += td16.__all__
__all__ += twzw22.__all__
