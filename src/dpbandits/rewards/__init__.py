"""What a pull gives: laws, instances, heavy tails, tables and populations."""
