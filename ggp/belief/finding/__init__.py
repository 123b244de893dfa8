"""Ways to find particles, one a file: see `ggp.belief.finder`."""
