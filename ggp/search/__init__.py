"""Search: from particles to the values of moves."""
