"""Search: from particles to the values of moves.

A search takes `Bags` and candidate moves, and returns `Estimates` that improve round by round.
Begin with `parts`, its protocols and kinds, then `playouts`, the simplest search; `leaf_values` are
playouts for trees. `estimates` plans trials and makes values of their goals; `parts` also runs a
search within its budget, and `anytime` has its deadlines. `moves` serve all searches.
These are: `simulations`, in which the other roles search, too (HyperPlay-II);
`clairvoyant`, which solves worlds as if everybody knew them, in shared `layers` of states (perfect
information Monte Carlo, paper 003); `sure_wins`, which hold whatever the others do; `puzzles`,
lines of moves of a single role; and `trees` over incomplete paths.
"""
