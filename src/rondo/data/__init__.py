"""STREAM -> WINDOWS: recordings, what is done to them before windows are cut, and planted streams with known truth."""
