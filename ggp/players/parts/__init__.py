"""Parts of players: base classes that turn a role's moves and percepts into decisions.

Begin with `belief_player`: `BeliefPlayer` observes, falls back and rescues, and subclasses decide.

- Observing: `tracker` keeps the bag of the role's incomplete path; `slices` adapts the work between
  two looks at the clock, and the size of the bag; `guessed_states` are played on without particles.
- Deciding: `search_player` has budgets, reports and ties, `tree_player` is the base of players with
  trees, and `risk` avoids moves that may be refused.
"""
