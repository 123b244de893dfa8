"""Pictures of states: boards, tables and facts, recognised from the rules alone.

    layout = Layout.of(program)
    picture = layout.picture(facts).to_json()

Begin with `layout`, which draws states as a `picture` of parts of several `kinds`. `values` says
which values the arguments of fluents take, `shapes` lists the fluents. `orders` and `finder` find
coordinates (`candidates`), `grids` makes boards of them, `symbols` knows common pieces. `moves`
says which cells a move names, and `side_file` reads what a game says of its picture itself.
`in_words` tells moves, percepts and fluents to people, and `stills` draws pictures into files,
`html` for notebooks.
"""

from match_runner.pictures.layout import Layout
from match_runner.pictures.picture import Picture

__all__ = ["Layout", "Picture"]
