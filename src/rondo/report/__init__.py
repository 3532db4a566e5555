"""A Result becomes one HTML page: summarize (-> dict), render (-> page)."""
