"""Search: from particles to the values of moves.

A search takes `Bags` and candidate moves and gives `Estimates`, better round by round. Begin with
`parts`, its protocols and kinds, then `playouts`, the plainest search; `leaf_values` are playouts
for trees. `estimates` and `trials` hold what was tried and what came of it; `budgets` and `anytime`
say for how long. `moves` and `refusals` are what all searches know of moves. The searches:
`simulations`, in which the other roles search, too (HyperPlay-II); `clairvoyant`, worlds solved as
if everybody knew them, in `layers` of states that they share (perfect information Monte Carlo,
paper 003); `sure_wins`, whatever the others do; `puzzles`, lines of moves of a single role; and
those in the room `trees`, over incomplete paths. `opponent_models` are of opponents that search.
"""
