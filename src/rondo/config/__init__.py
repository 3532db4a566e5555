"""Settings: the schema with the source of every default, and how files and options change it."""
