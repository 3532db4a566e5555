"""`rondo view`: the page of a run, or of a fleet of streams, on loopback: live, with edits and films."""
