"""One module per kind of feed, each with its `FEED`; `rondo.live.devices.messages` finds them."""
