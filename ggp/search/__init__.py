"""Search: from particles to the values of moves.

A search takes `Bags` and candidate moves and gives `Estimates`, better round by round. Begin with
`parts`, its protocols, then `playouts`, the plainest search. `estimates` and `trials` (with
`trial_kernels`) hold trials and their results; `budgets` and `anytime` say how long to search, and
`kinds` how players are classified by how they search. `moves`, `joint_moves` and `refusals` hold
what all searches need to know about moves. The rooms: `nested` (roles that search inside a search),
`trees` (over incomplete paths), `worlds` (solved as if everybody knew them), `information_sets`
(what our role will know) and `boards` (pieces, exchanges).
"""
