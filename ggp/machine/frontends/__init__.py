"""What reads games and builds machines of them: `rulesheets`, and `gambit` for files of Gambit's.

Another rule language is a `Frontend` that a package offers: see `ggp.registry`.
"""

from ggp.machine.definition import Frontend
from ggp.machine.gambit.games import EXTENSIVE, NORMAL
from ggp.registry import Registry

FRONTENDS: Registry[Frontend] = Registry(
    "ggp.frontends",
    "frontend",
    {
        "": "ggp.machine.frontends.rulesheets:FRONTEND",
        EXTENSIVE: "ggp.machine.frontends.gambit:FRONTEND",
        NORMAL: "ggp.machine.frontends.gambit:FRONTEND",
    },
    form="{}:",
)
"""By the prefix of their games' names or texts; rulesheets have none. That of an installed package
is the name it offers, and a colon."""
