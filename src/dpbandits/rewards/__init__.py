"""Rewards: laws, instances, heavy tails, tables and populations."""
