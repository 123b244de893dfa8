"""Sure wins: strategies that lead to the best goal in every world that a role thinks possible.

In comes an exact information set, out goes a move, if one begins such a strategy. Begin with
`sure_wins`, which keeps what it found from turn to turn. It finds the states that may follow, turn
by turn; `sure_kernels` decide in which sets of them a win is sure. It also says what moves that may
end the match are worth at least, in any set.
"""
