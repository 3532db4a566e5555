"""One module per kind of source, each with its `SOURCE`; `rondo.live.base` finds them."""
