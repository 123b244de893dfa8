#!/bin/sh
# elote 1.5.1 (Python 3.11): competitors of five rating systems that are stored and restored go on
# as newcomers.
#
# Guess: `from_state(export_state())` gives a competitor of the same future, as it does for Elo,
# Glicko, Glicko-2, DWZ, ECF, TrueSkill and OpenSkill.
#
# Seen: Bradley-Terry, Colley, Keener, Massey and whole-history ratings are computed from all games,
# but the state holds none. The restored rating is right until the next game, which computes it anew
# from that game alone. A ladder that stores its agents between days loses what they had played.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" elote==1.5.1 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import elote

SYSTEMS = "Elo Glicko Glicko2 DWZ ECF TrueSkill OpenSkill".split()
FROM_ALL_GAMES = "BradleyTerry ColleyMatrix Keener Massey WholeHistoryRating".split()


def ratings(system):
    """Of the first player: before storing, after it, and after one more game with and without."""
    kind = getattr(elote, system + "Competitor")
    players = [kind() for _ in range(4)]
    for _ in range(5):
        for better, worse in ((0, 1), (1, 2), (2, 3), (0, 3)):
            players[better].beat(players[worse])
    restored = [kind.from_state(player.export_state()) for player in players]
    before = (players[0].rating, restored[0].rating)
    players[3].beat(players[0])
    restored[3].beat(restored[0])
    return (*before, players[0].rating, restored[0].rating)


for system in SYSTEMS + FROM_ALL_GAMES:
    stored, back, on, back_on = ratings(system)
    print(system, *(round(rating, 3) for rating in (stored, back, on, back_on)))
    assert abs(stored - back) < 1e-9
    assert (abs(on - back_on) < 1e-6) == (system in SYSTEMS)
PYTHON
PYTHONPATH="$work/site" python3 seen.py
