"""Pictures of states: boards, tables and facts, recognised from the rules alone.

    layout = Layout.of(program)
    picture = layout.picture(facts).to_json()

Begin with `layout`, which draws states as pictures of parts of several `kinds`. `shapes` lists the
fluents, and the values that their arguments take. `coordinates` finds coordinates among these,
`grids` makes boards of them, `symbols` knows common pieces. `moves` says which cells a move names,
and `side_file` reads what a game says of its picture itself. `words` tells moves, percepts and
fluents to people, and `stills` draws pictures into files, `html` for notebooks.
"""

from match_runner.pictures.kinds import Picture
from match_runner.pictures.layout import Layout

__all__ = ["Layout", "Picture"]
