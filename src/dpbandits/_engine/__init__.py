"""The engine: compiled loops, the table of accelerators, workers, and the store of runs.

Private: no reader imports it. An algorithm's own file, in the folders beside this one, is its
definition; this package contains faster ways to run it with the same law, and what those files
compute beforehand.

- `accelerators`: one module a technique; importing it fills the table.
- `acceleration`: the table itself, by exact class and type of input.
- `elimination_epochs`: the lengths of epochs that two eliminations compute, not read off a formula.
- `running`, `streams`, `store`: replicates over workers, a stream each, runs kept on the disk.
- `kernels`, `parts`: Numba's compiler with a cache that knows what a kernel was compiled from.
"""
