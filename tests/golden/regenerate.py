"""Write the golden traces anew: python -m tests.golden.regenerate [GAME...]

Do so only when a game or its rules were changed on purpose, and read the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ggp.gdl import list_games
from tests.support.games import machine_of_game
from tests.support.traces import random_trace

FOLDER = Path(__file__).resolve().parent
SEEDS = (1, 2, 3)
SEPARATOR = "\nmatch "
CUT_OFF = {
    "dark_chess": 24,
    "dark_hex_5x5": 24,
    "kriegspiel": 24,
    "kriegspiel_5x5": 60,
    "othello": 24,
}
"""Steps after which the matches of long games are left."""


def main(names: list[str]) -> None:
    """Regenerate the traces of these games, or of all."""
    for name in names or list_games():
        machine = machine_of_game(name)
        text = f"{name}: {' '.join(machine.roles)}\n" + "".join(
            f"{SEPARATOR}{number}\n{random_trace(machine, seed, CUT_OFF.get(name))}"
            for number, seed in enumerate(SEEDS, 1)
        )
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
