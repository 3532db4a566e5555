"""`python -m rondo`."""

from rondo.cli.main import run

run()
