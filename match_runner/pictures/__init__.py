"""What states look like: boards, tables and facts, recognised from the rules alone.

    layout = Layout.of(program)
    picture = layout.picture(facts).to_json()

`values` says which values the arguments of fluents take, `orders` which of these are coordinates,
`boards` puts fluents into grids, `layout` draws states, and `symbols` knows common pieces.
"""

from match_runner.pictures.layout import Layout
from match_runner.pictures.picture import Picture

__all__ = ["Layout", "Picture"]
