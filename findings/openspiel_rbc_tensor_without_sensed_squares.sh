#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): in rbc a tensor does not tell that sensed squares are empty.
#
# Guess: an observation as a string and as a tensor tell the same of what was sensed.
#
# Seen: the string has blanks for empty squares that were sensed, and digits for those that were not;
# the tensor has the pieces that were found. White's 36 first senses give 36 strings and 13 tensors:
# the 24 that meet only empty squares and own pieces look alike. That nothing
# stands there is most of what a sense brings; a network does not get it from the tensor.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel

start = pyspiel.load_game("rbc").new_initial_state()
white = start.current_player()
sensed = [start.child(action) for action in start.legal_actions()]
strings = [state.observation_string(white) for state in sensed]
tensors = [tuple(state.observation_tensor(white)) for state in sensed]
alike = max(map(tensors.count, tensors))
print(len(sensed), "senses:", len({*strings}), "strings,", len({*tensors}), "tensors,", alike, "alike")
print(*[string for string, tensor in zip(strings, tensors) if tensors.count(tensor) == alike][:3])
assert (len(sensed), len({*strings}), len({*tensors}), alike) == (36, 36, 13, 24)
PYTHON
PYTHONPATH="$work/site" python3 seen.py
