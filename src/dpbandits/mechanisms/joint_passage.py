"""Old place of `dpbandits.mechanisms.first_passage`, until its users have moved."""

from dpbandits.mechanisms.first_passage import walk_to_joint_passage as walk_to_joint_passage
