"""Parts of players: base classes that turn a role's moves and percepts into decisions.

Begin with `belief_player`: `BeliefPlayer` observes, avoids moves that may be refused, falls back
and rescues; subclasses decide.

- Observing: `tracker` keeps the bag of the role's incomplete path, and adapts its size and the work
  between two looks at the clock; `without_belief` has guesses, and the true state.
- Deciding: `search_player` has budgets, reports and ties, and `tree_player` is the base of players
  with trees.
"""
