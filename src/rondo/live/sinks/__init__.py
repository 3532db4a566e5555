"""Where labels, events and alarms go beside the files: one module per kind, found by `rondo.live.sinks.base`."""
