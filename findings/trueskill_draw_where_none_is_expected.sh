#!/bin/sh
# trueskill 0.4.5 (Python 3.11): with `draw_probability=0` a draw makes ratings less certain.
#
# Guess: such a draw raises an error, or is an observation like any other, after which sigma is lower.
#
# Seen: sigma of two equal players goes up from 8.33 to 9.59, in each further draw again; a
# probability of 0.0001 lowers it as usual. A ladder of a game that has no draws, in which a match is
# broken off as one, slowly forgets what it knows about the players, without an error.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" trueskill==0.4.5 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from trueskill import TrueSkill


def sigmas(draw_probability, matches=3):
    env = TrueSkill(draw_probability=draw_probability)
    one, two = env.create_rating(), env.create_rating()
    seen = [one.sigma]
    for _ in range(matches):
        one, two = env.rate_1vs1(one, two, drawn=True)
        assert abs(one.mu - two.mu) < 1e-6
        seen.append(one.sigma)
    return seen


none, few = sigmas(0), sigmas(0.0001)
print([round(sigma, 3) for sigma in none], [round(sigma, 3) for sigma in few])
assert none == sorted(none) and none[1] > none[0] + 1
assert few == sorted(few, reverse=True) and few[1] < few[0] - 1
PYTHON
PYTHONPATH="$work/site" python3 seen.py
