"""The passes, one in each file: each makes a circuit smaller, and keeps the game the same.

In come a `Circuit` and what is known of it (`Knowledge`), out goes a `Circuit`. Begin with
`flattening`, the shortest. `constants` and `invariants` hold in all states, `complements` and
`implications` follow from other literals; `extraction` and `factoring` make gates for what others
have in common.
"""
