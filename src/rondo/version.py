"""The version of Rondo, written here and nowhere else: the build, `rondo --version` and saved models read it."""

__version__ = "0.2.0"
