"""A Result on disk and in words: summary, segments, entries, findings, the folder of a run or of a stream."""
