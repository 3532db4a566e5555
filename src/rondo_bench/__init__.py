"""The benchmark: baselines, data sets, experiments, tables. It adds commands and methods to rondo by entry points."""
