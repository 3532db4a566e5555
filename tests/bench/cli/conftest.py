"""The commands that the benchmark adds are tried as all others are."""

from tests.cli.conftest import here, rondo

__all__ = ["here", "rondo"]
