"""The stream that learns: updater, novelty, journal, checkpoint."""
