"""Recordings damaged in one way that users meet, and the verdict on what Rondo makes of each."""
