#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): three of its voting rules report a tie as a victory.
#
# Guess: with one vote `a, b` and one vote `b, a` every rule of `open_spiel.python.voting` gives both
# the same score, since nothing tells them apart.
#
# Seen: Borda, Copeland, plurality and ranked pairs do; Kemeny-Young, Schulze and STV give a higher
# score to whichever was named first in the profile's alternatives. A ranking of agents by these
# rules shows leads that come from the order of a list: run it with the list reversed to see.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from open_spiel.python.voting import base, borda, copeland, kemeny_young, plurality, ranked_pairs
from open_spiel.python.voting import schulze, stv

RULES = {
    "borda": borda.BordaVoting(),
    "copeland": copeland.CopelandVoting(),
    "plurality": plurality.PluralityVoting(),
    "ranked pairs": ranked_pairs.RankedPairsVoting(),
    "kemeny": kemeny_young.KemenyYoungVoting(),
    "schulze": schulze.SchulzeVoting(),
    "stv": stv.STVVoting(num_winners=1),
}


def lead(rule, alternatives):
    """The alternative with the highest score, or "tie"."""
    profile = base.PreferenceProfile(alternatives=alternatives)
    profile.add_vote(["a", "b"])
    profile.add_vote(["b", "a"])
    outcome = rule.run_election(profile)
    first, second = outcome.scores
    return outcome.ranking[0] if first > second else "tie"


seen = {name: (lead(rule, ["a", "b"]), lead(rule, ["b", "a"])) for name, rule in RULES.items()}
for name, leads in seen.items():
    print(name, *leads)
won = {name for name, leads in seen.items() if leads != ("tie", "tie")}
assert won == {"kemeny", "schulze", "stv"}, won
assert all(seen[name] == ("a", "b") for name in won), seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
