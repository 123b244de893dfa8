"""What reads games and builds machines of them: `rulesheets`, `gambit` for files of Gambit's, and
`openspiel` for its games.

Another rule language is a module or a room here, with a `Frontend`, and a line in `FRONTENDS`.
"""

from collections.abc import Mapping

from ggp.machine.definition import Frontend
from ggp.machine.frontends import gambit, openspiel, rulesheets
from ggp.machine.gambit.games import EXTENSIVE, NORMAL

FRONTENDS: Mapping[str, Frontend] = {
    "": rulesheets.FRONTEND,
    EXTENSIVE: gambit.FRONTEND,
    NORMAL: gambit.FRONTEND,
    "openspiel:": openspiel.FRONTEND,
}
"""By the prefix of their games' names or texts; rulesheets have none."""
