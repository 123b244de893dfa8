"""The kinds of parts that pictures are made of, each with what it takes of a state.

`boards` take what belongs on their cells, `tables` facts of one name, `facts` what is left. Another
kind is a module here and a line in `KINDS`, which the page has as well (`KINDS` in `board.js`).
"""

from collections.abc import Mapping

from match_runner.pictures.kinds import boards, facts, tables
from match_runner.pictures.picture import Kind

KINDS: Mapping[str, Kind] = {
    "boards": Kind(boards.taker, boards.certain, is_view=boards.is_view),
    "tables": Kind(tables.taker, tables.certain),
    "facts": Kind(facts.taker, facts.certain, words=lambda fact: str(fact["text"])),
}
"""By their names in JSON. They take facts in this order, and so they are drawn."""
