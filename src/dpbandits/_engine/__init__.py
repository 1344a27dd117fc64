"""The engine: compiled loops, the table of accelerators, workers, and the store of runs.

Private: no reader imports it. An algorithm's own file, in the folders beside this one, is its
definition; this package contains faster ways to run it with the same distribution, and the
quantities that those files compute beforehand.

- `accelerators`: one module for each technique; importing it fills the table.
- `acceleration`: the table itself, by exact class and type of input.
- `elimination_epochs`: epoch lengths that two eliminations compute numerically, for want of a
formula.
- `running`, `streams`, `store`: replicates over workers, one stream for each, runs stored on disk.
- `kernels`, `parts`: Numba's compiler with a cache that tracks the source files of each kernel.
"""
