"""Learning: environments of many lanes, nets trained by self-play, and bounds on a player's losses.

`env` presents a game as arrays of fixed shapes, `selfplay` learns policies in it and stores them in
files, and `jax_export` writes a game as a module of JAX (from `jax_template`). `respond` learns to
respond to any player, and so bounds what the player can lose. `threads` run pieces of work side by
side.

For players, `learned` plays policies, improves them by a step of search, and predicts other roles'
moves by them; `learnt_values` values states. `learn_command` has the commands `ggp learn` and
`ggp policies`, with runs from several seeds in `learnt_seeds`; `respond_command` has `ggp respond`.
"""

from ggp.console import LaterCommand

LEARN = LaterCommand(
    "ggp.labs.learning.learn_command",
    "Learn policies of a game by self-play, and write them to a file.",
    "learn",
)
POLICIES = LaterCommand(
    "ggp.labs.learning.learn_command",
    "List learnt policies in files or folders; default: the current folder.",
    "policies",
)
RESPOND = LaterCommand(
    "ggp.labs.learning.respond_command",
    "Bound what a player can lose, in games of any size.",
    "respond",
)
