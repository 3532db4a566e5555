"""`rondo view`: the page of a run on loopback: live, with edits and films."""
