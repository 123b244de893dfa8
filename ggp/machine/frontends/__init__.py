"""What reads games and builds machines of them: `rulesheets`, and `openspiel` for its games.

Another rule language is a module or a room here, with a `Frontend`, and a line in `FRONTENDS`.
"""

from collections.abc import Mapping

from ggp.machine.definition import Frontend
from ggp.machine.frontends import openspiel, rulesheets

FRONTENDS: Mapping[str, Frontend] = {"": rulesheets.FRONTEND, "openspiel:": openspiel.FRONTEND}
"""By the prefix of their games' names and texts; rulesheets have none."""
