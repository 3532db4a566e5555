"""TIMELINE -> MOTIF LABELS: into which longer motifs the units compose, where the data show that they do."""
