"""REPRESENTATIONS -> TIMELINE: which short units exist, and which one each window is."""
