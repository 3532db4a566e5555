"""MORE THAN MEMORY: recordings that are read one after the other, here or elsewhere, and labelled file by file."""
