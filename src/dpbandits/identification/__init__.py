"""Private best-arm identification with fixed confidence (Jourdan & Azize 2025)."""
