"""The passes, one a file: each makes a circuit smaller, and says the same about the game.

In come a `Circuit` and what is known of it (`Knowledge`), out goes a `Circuit`. Begin with
`constants`, then in any order; `PASSES` in `ggp.machine.propnet.optimise` says when each is run.
"""
