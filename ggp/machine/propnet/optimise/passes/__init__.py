"""The passes, one in each file: each makes a circuit smaller, and keeps the game the same.

In come a `Circuit` and what is known of it (`Knowledge`), out goes a `Circuit`. Begin with `local`,
the short ones, which look at a literal and its neighbours. `invariants` hold in all states;
`extraction` and `factoring` make gates for what others have in common.
"""
