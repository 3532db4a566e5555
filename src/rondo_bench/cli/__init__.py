"""Commands that the benchmark adds: rondo bench, rondo datasets."""
