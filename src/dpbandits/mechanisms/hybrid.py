"""Old place of `dpbandits.mechanisms.counters`, until its users have moved."""

from dpbandits.mechanisms.counters import HYBRID_STATE as HYBRID_STATE
from dpbandits.mechanisms.counters import SPLITS as SPLITS
from dpbandits.mechanisms.counters import HybridCounter as HybridCounter
from dpbandits.mechanisms.counters import next_hybrid_noise as next_hybrid_noise
