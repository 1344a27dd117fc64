"""Attacks on all that the package declares private: lower bounds on ε, by runs or exactly."""
