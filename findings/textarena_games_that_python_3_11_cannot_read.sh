#!/bin/sh
# textarena 0.7.4 (Python 3.11): six games that it lists raise SyntaxError when they are made.
#
# Guess: the package says that it needs Python 3.10 or later, so `make` gives every listed game.
#
# Seen: chess, checkers, misere tic-tac-toe, iterated stag hunt, ultimate hold'em and klondike raise
# SyntaxError under 3.11, all of their variants do; installation and `import textarena` say nothing.
# A benchmark over all games ends in the middle, or silently skips games that another machine plays.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" textarena==0.7.4 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from importlib.metadata import metadata

import textarena

print(metadata("textarena")["Requires-Python"])
unread = set()
for name in textarena.envs.registration.ENV_REGISTRY:
    if name.endswith("-v0"):
        try:
            textarena.make(name)
        except SyntaxError:
            unread.add(name)
        except Exception:
            pass  # needs downloads or keys
print(*sorted(unread))
assert metadata("textarena")["Requires-Python"] == ">=3.10"
assert unread == {
    "Checkers-v0",
    "Chess-v0",
    "IteratedStagHunt-v0",
    "Klondike-v0",
    "ReverseTicTacToe-v0",
    "UltimateTexasHoldem-v0",
}, unread
PYTHON
PYTHONPATH="$work/site" python3 seen.py 2>/dev/null
