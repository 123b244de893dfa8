"""What players are made of: each extends a class of these.

In come a role's own moves and percepts, out goes a decision. `belief_player` is the file to open
first: `BeliefPlayer` observes, falls back and rescues, and leaves it to a subclass to decide.

- Observing: `tracker` keeps the bag of the role's incomplete path; `slices` say how much work fits
  between two looks at the clock, and how large the bag becomes.
- Deciding: `search_player` has budgets, reports and ties, and `tree_player` what players of trees
  have in common. `risk` looks after moves that may
  be refused.
"""
