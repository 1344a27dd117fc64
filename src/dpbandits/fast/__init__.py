"""Accelerators: what plays faster, with the same law, what an algorithm's file says plainly.

A module is one technique. Algorithms know nothing of it; `dpbandits.acceleration` has the table of
what plays which class on which input.
"""

from dpbandits.fast import batched_top_two as batched_top_two
from dpbandits.fast import binomial_elimination as binomial_elimination
from dpbandits.fast import dplre as dplre
from dpbandits.fast import ebgstop as ebgstop
from dpbandits.fast import elimination as elimination
from dpbandits.fast import fresh_epochs as fresh_epochs
from dpbandits.fast import heavy_skipping as heavy_skipping
from dpbandits.fast import heavy_steps as heavy_steps
from dpbandits.fast import hybrid_skipping as hybrid_skipping
from dpbandits.fast import index_policies as index_policies
from dpbandits.fast import intervals as intervals
from dpbandits.fast import lazy_batches as lazy_batches
from dpbandits.fast import lazy_race as lazy_race
from dpbandits.fast import ldp_ucb as ldp_ucb
from dpbandits.fast import passing as passing
from dpbandits.fast import promised as promised
from dpbandits.fast import robust_ucb as robust_ucb
from dpbandits.fast import rounds as rounds
from dpbandits.fast import skipping as skipping
from dpbandits.fast import top_two as top_two
