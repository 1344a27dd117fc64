"""Private bandits: differentially private bandit algorithms, simulated at full scale."""

__version__ = "0.1.0"
