"""Puzzles: games of one role without chance, in which a line of moves can be known in advance.

In comes a state, out goes the best `Line` of moves found from it. Begin with `puzzle_search`, which
shares the time among three searches: one visits all states, layer by layer; a policy is
adapted to the best line so far; and a solver looks for a line on the unrolled circuit.
`lines` says what a line and a search are, and has the first of them.
"""
