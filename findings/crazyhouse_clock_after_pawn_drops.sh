#!/bin/sh
# chess 1.11.2 (Python) and chessops 0.15.1 (npm): after a pawn is dropped in crazyhouse the two
# write different FENs, and `chess` contradicts itself.
#
# Guess: two libraries that agree on all moves, ends and SANs of nine variants agree on FENs; and
# `board.is_zeroing(move)` says whether the half-move clock is 0 after the move.
#
# Seen: `is_zeroing` is true for a pawn drop, but `push` counts the clock on; chessops sets it to 0.
# The packages also write the pieces of a pocket in different orders. So FENs of one do not find
# positions of the other in a table or book, and draws by the clock come at different moves.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" chess==1.11.2 2>/dev/null
cd "$work"
npm install --silent --no-audit --no-fund chessops@0.15.1 >/dev/null
cat > seen.py <<'PYTHON'
from chess.variant import CrazyhouseBoard

board = CrazyhouseBoard("4k3/8/8/8/8/8/8/4K3[QRP] w - - 6 10")
print(board.fen())
move = board.parse_san("@e4")
assert board.is_zeroing(move)
board.push(move)
print(board.fen())
assert board.halfmove_clock == 7
PYTHON
cat > seen.mjs <<'JAVASCRIPT'
import { makeFen, parseFen } from 'chessops/fen';
import { parseUci } from 'chessops/util';
import { setupPosition } from 'chessops/variant';

const setup = parseFen('4k3/8/8/8/8/8/8/4K3[QRP] w - - 6 10').unwrap();
const position = setupPosition('crazyhouse', setup).unwrap();
console.log(makeFen(position.toSetup()));
position.play(parseUci('P@e4'));
console.log(makeFen(position.toSetup()));
JAVASCRIPT
PYTHONPATH="$work/site" python3 seen.py > python.txt
node seen.mjs > npm.txt
cat python.txt npm.txt
tail -n 1 python.txt | grep -q ' 7 10$'
tail -n 1 npm.txt | grep -q ' 0 10$'
