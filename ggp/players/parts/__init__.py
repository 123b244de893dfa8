"""What players are made of: each extends a class of these.

In come a role's own moves and percepts, out goes a decision. `belief_player` is the file to open
first: `BeliefPlayer` observes, falls back and rescues, and leaves it to a subclass to decide.

- Observing: `tracker` keeps the bag of the role's incomplete path, `growth` how large the bag
  becomes under a clock, `slices` how much work fits between two looks at the clock, `pondering`
  what to do while others think.
- Deciding: `search_player` has budgets, reports and ties, and `tree_player` and
  `information_set_player` what players have in common that search alike. `policy_search` is a step
  of search on a learnt policy, by which `learnt_moves` has others move. `learnt_values` is what
  was learnt of states, and `duels` say whether to rely on it. `risk` looks after moves that may be
  refused.
"""
