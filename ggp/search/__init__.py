"""Search: from particles to the values of moves.

A search takes `Bags` and candidate moves and gives `Estimates`, better round by round. Begin with
`parts`, its protocols and kinds, then `playouts`, the plainest search; `leaf_values` are playouts
for trees. `estimates` and `trials` hold what was tried and what came of it; `budgets` and `anytime`
say for how long. `moves` and `refusals` are what all searches know of moves. The
rooms: `nested` (roles that search inside a search), `trees` (over incomplete paths), `worlds`
(solved as if everybody knew them), `sure` (wins whatever the others do) and `puzzles` (lines of
moves of a single role).
"""
