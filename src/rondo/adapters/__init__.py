"""Rondo as an estimator of other libraries: `rondo.adapters.sktime` and `rondo.adapters.aeon`, which need those."""
