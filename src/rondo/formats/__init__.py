"""Files in: recordings and annotations in every format that people have."""
