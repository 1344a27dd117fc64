"""Old place of `dpbandits.mechanisms.counters`, until its users have moved."""

from dpbandits.mechanisms.counters import LogarithmicCounter as LogarithmicCounter
