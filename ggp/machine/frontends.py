"""The table of frontends: for each kind of game, its reader and its backends.

There are frontends for rulesheets and for Gambit's files. An installed package can add a `Frontend`
for another kind of game: see `ggp.registry`.
"""

from ggp.machine.definition import Frontend
from ggp.machine.gambit.games import EXTENSIVE, NORMAL
from ggp.registry import Registry

FRONTENDS: Registry[Frontend] = Registry(
    "ggp.frontends",
    "frontend",
    {
        "": "ggp.machine.build:FRONTEND",
        EXTENSIVE: "ggp.machine.gambit.tree_machine:FRONTEND",
        NORMAL: "ggp.machine.gambit.tree_machine:FRONTEND",
    },
    form="{}:",
)
"""Frontends by the prefix of names or texts of their games; the prefix of rulesheets is empty. The
prefix of an installed package is the name of its entry point, and a colon."""
