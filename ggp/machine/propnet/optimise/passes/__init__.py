"""The passes, one in each file: each makes a circuit smaller, and keeps the game the same.

In come a `Circuit` and what is known of it (`Knowledge`), out goes a `Circuit`. Begin with
`invariants`, which hold in all states: some are seen at once, others proved. `extraction` and
`factoring` make gates for what others have in common.
"""
