"""WHERE WORK RUNS: the same tasks in this process, in several, or on a cluster, with the same results."""
