"""Learning: environments of many lanes, policies of nets by self-play, and who can beat a player.

`env` has a game as arrays of fixed shapes, `selfplay` learns policies in it, and `jax_export`
writes a game as a module of JAX (`jax_template`). `respond` learns to respond to any player: a
bound on what it can lose.

For players, `learned` plays policies, takes a step of search on them, and says how others move by
them; `learnt_values` values states. The commands are in `learn_command`, which learns from several
`learnt_seeds` and judges what was learnt, and `respond_command`.
"""

from ggp.console import LaterCommand

LEARN = LaterCommand(
    "ggp.labs.learning.learn_command",
    "Learn policies of a game by self-play, and write them to a file.",
    "learn",
)
POLICIES = LaterCommand(
    "ggp.labs.learning.learn_command",
    "List policies that were learnt, in files or folders; by default in the current one.",
    "policies",
)
RESPOND = LaterCommand(
    "ggp.labs.learning.respond_command",
    "Bound what a player can lose, in games of any size.",
    "respond",
)
