"""Many devices: messages of a feed, one stream for each device."""
