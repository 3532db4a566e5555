"""The local server that shows the page of a run."""
