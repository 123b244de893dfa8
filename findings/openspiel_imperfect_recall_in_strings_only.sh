#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): games of imperfect recall have it in strings only.
#
# Guess: dark_hex_ir and liars_dice_ir, made so that players forget, have as many information states
# by their tensors as by their strings.
#
# Seen: the strings forget the order of moves and early bids, the tensors keep both. On 2 x 2 cells
# dark_hex_ir has 42 strings and 70 tensors; liars_dice_ir with three sides has 186 and 192, as many
# as liars_dice, in which nobody forgets. Tabular CFR and networks play two games of one name, and a
# network's policy is none of the tabular game's, by which it may be measured.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel


def counted(name):
    """How many strings and tensors there are where players decide."""
    strings, tensors = set(), set()
    states = [pyspiel.load_game(name).new_initial_state()]
    while states:
        state = states.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            player = state.current_player()
            strings.add((player, state.information_state_string(player)))
            tensors.add((player, *state.information_state_tensor(player)))
        states += map(state.child, state.legal_actions())
    return len(strings), len(tensors)


expected = {
    "dark_hex_ir(num_rows=2,num_cols=2)": (42, 70),
    "liars_dice_ir(dice_sides=3)": (186, 192),
    "liars_dice(dice_sides=3)": (192, 192),
}
for name, numbers in expected.items():
    print(name, "- strings, tensors:", *counted(name))
    assert counted(name) == numbers
PYTHON
PYTHONPATH="$work/site" python3 seen.py
