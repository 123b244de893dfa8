"""The passes, one in each file: each makes a circuit smaller, and keeps the game the same.

In come a `Circuit` and what is known of it (`Knowledge`), out goes a `Circuit`. Begin with
`flattening`, the shortest. `constants` and `invariants` use what holds in all states, `complements`
and `implications` what follows from other literals; `extraction`, `factoring` and `resubstitution`
reuse gates.
"""
