"""Files in: what the user asked of a file, which format it has, and the Recording it becomes."""
