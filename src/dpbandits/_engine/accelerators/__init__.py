"""Accelerators: faster programs with the same distribution as the plain one.

A module is one technique. Algorithms do not refer to them; the table in
`dpbandits._engine.acceleration` maps a class and a type of input to its accelerators.
"""

from dpbandits._engine.accelerators import arm_heaps as arm_heaps
from dpbandits._engine.accelerators import batched_top_two as batched_top_two
from dpbandits._engine.accelerators import binomial_elimination as binomial_elimination
from dpbandits._engine.accelerators import dp_ucb_int as dp_ucb_int
from dpbandits._engine.accelerators import dplre as dplre
from dpbandits._engine.accelerators import ebgstop as ebgstop
from dpbandits._engine.accelerators import elimination as elimination
from dpbandits._engine.accelerators import fresh_epochs as fresh_epochs
from dpbandits._engine.accelerators import heavy_skipping as heavy_skipping
from dpbandits._engine.accelerators import heavy_steps as heavy_steps
from dpbandits._engine.accelerators import hybrid_skipping as hybrid_skipping
from dpbandits._engine.accelerators import index_policies as index_policies
from dpbandits._engine.accelerators import kary_skipping as kary_skipping
from dpbandits._engine.accelerators import lazy_batches as lazy_batches
from dpbandits._engine.accelerators import lazy_race as lazy_race
from dpbandits._engine.accelerators import ldp_ucb as ldp_ucb
from dpbandits._engine.accelerators import many_batches as many_batches
from dpbandits._engine.accelerators import many_pulls as many_pulls
from dpbandits._engine.accelerators import nas_sampling as nas_sampling
from dpbandits._engine.accelerators import own_index as own_index
from dpbandits._engine.accelerators import promised as promised
from dpbandits._engine.accelerators import robust_ucb as robust_ucb
from dpbandits._engine.accelerators import skipping as skipping
from dpbandits._engine.accelerators import top_two as top_two
from dpbandits._engine.accelerators import top_two_rounds as top_two_rounds
