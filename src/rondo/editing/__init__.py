"""One list of edits of a vocabulary, and how labels look after it."""
