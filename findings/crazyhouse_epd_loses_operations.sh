#!/bin/sh
# chess 1.11.2 (Python): `CrazyhouseBoard.epd` leaves out the operations that it is given.
#
# Guess: `board.epd(id="x", bm=[move])` writes them, and `from_epd` reads them back, in all variants.
#
# Seen: in crazyhouse the line ends after the position and `from_epd` returns no operations; the nine
# other classes write both. So test suites of best moves, and positions stored with their number,
# clock or evaluation, come back as bare positions, without an error. Append the operations yourself:
# `from_epd` does read them in crazyhouse.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" chess==1.11.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from chess.variant import VARIANTS, CrazyhouseBoard

without = set()
for kind in VARIANTS:
    board = kind()
    move = next(iter(board.legal_moves))
    text = board.epd(id="x", bm=[move])
    _, operations = kind.from_epd(text)
    if operations != {"id": "x", "bm": [move]}:
        print(kind.__name__, text, operations)
        assert operations == {}
        without.add(kind)
print(len(VARIANTS), "variants")
assert without == {CrazyhouseBoard}, without
board = CrazyhouseBoard()
_, operations = CrazyhouseBoard.from_epd(board.epd() + ' id "x";')
assert operations == {"id": "x"}, operations
PYTHON
PYTHONPATH="$work/site" python3 seen.py
