"""Pictures of states: boards, cards, counters and facts, recognised from the rules alone.

    layout = Layout.of(program)
    picture = layout.picture(facts).to_json()

Rules come in, then the fluents of states; pictures go out, as JSON for the table's page, the
terminal, notebooks and files. Begin with `layout`, which draws a state as parts of several `kinds`.
`shapes` lists the fluents, and the values of their arguments. `coordinates` finds coordinates among
these, `grids` makes boards of them, `symbols` knows common pieces; `faces` finds cards, dice and
counters. `side_file` reads a game's own description of its picture. `words` puts moves, percepts
and fluents into words, and says which cells a move names. `stills` draws pictures to files, `html`
for notebooks.
"""

from match_runner.pictures.kinds import Picture
from match_runner.pictures.layout import Layout

__all__ = ["Layout", "Picture"]
