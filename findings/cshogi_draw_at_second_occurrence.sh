#!/bin/sh
# cshogi 1.1.0 and python-shogi 1.1.1 (Python 3.11): they call a repetition a draw at different
# moves.
#
# Guess: `board.is_draw()` is REPETITION_DRAW when a position is there for the fourth time, as the
# rules of shogi have it, and `is_game_over()` is true then.
#
# Seen: cshogi says REPETITION_DRAW from the second time on, and `is_game_over()` stays false;
# python-shogi says `is_fourfold_repetition()` at the fourth, and its game is over. A loop that ends
# matches by `is_draw()` ends them eight moves early here: count to four yourself.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" cshogi==1.1.0 python-shogi==1.1.1 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import cshogi
import shogi

ours, theirs = cshogi.Board(), shogi.Board()
seen = []
for _ in range(3):
    for move in ("2h3h", "8b7b", "3h2h", "7b8b"):
        ours.push_usi(move)
        theirs.push_usi(move)
    draw = ours.is_draw() == cshogi.REPETITION_DRAW
    seen.append((draw, ours.is_game_over(), theirs.is_game_over()))
for times, row in enumerate(seen, 2):
    print(f"position seen {times} times: cshogi {row[0]}, {row[1]}; python-shogi {row[2]}")
assert seen == [(True, False, False), (True, False, False), (True, False, True)], seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
