"""Search: from particles to the values of moves.

A search takes `Bags` and candidate moves and gives `Estimates`, better round by round. Begin with
`parts`, its protocols, then `playouts`, the plainest search; `leaf_values` are playouts for trees.
`estimates` and `trials` hold what was tried and what came of it; `budgets` and `anytime` say for
how long, and `kinds` what players are called by how they search. `moves`, `joint_moves` and
`refusals` are what all searches know of moves. The rooms: `nested` (roles that search inside a
search), `trees` (over incomplete paths), `worlds` (solved as if everybody knew them),
`information_sets` (what our role will know), `sure` (wins whatever the others do), `boards`
(pieces, exchanges) and `puzzles` (lines of moves of a single role).
"""
