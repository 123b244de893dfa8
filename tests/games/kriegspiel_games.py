"""Random games of chess without sight: python -m tests.games.kriegspiel_games --games 50

They are played beside an umpire, and every try is compared: what each player may try, what is
refused or announced, where the pieces then are, and how the game ends. Stops at the first
disagreement.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import numpy as np

from tests.games.chess_umpires import ChessUmpire
from tests.games.small_chess_umpire import SmallUmpire
from tests.games.umpires import Umpire
from tests.support.games import machine_of_game


class BoardUmpire(Umpire, Protocol):
    def cells(self) -> set[str]:
        """The pieces, as fluents."""
        ...

    def rare(self, move: str) -> str | None:
        """The name of a legal move of a rare kind."""
        ...


UMPIRES: dict[str, Callable[[], BoardUmpire]] = {
    "kriegspiel": ChessUmpire,
    "kriegspiel_5x5": SmallUmpire,
}


def compare(
    game: str, make_umpire: Callable[[], BoardUmpire], num_games: int, seed: int
) -> Counter[str]:
    """Play games side by side in which machine and umpire must agree.

    In every other game moves that tempt the umpire are preferred, such as promotions.

    Returns:
        How often each percept, each score and each kind of move occurred, and `tries`.
    """
    machine = machine_of_game(game, "propnet")
    rng = random.Random(seed)
    umpires = [make_umpire() for _ in range(num_games)]
    eager = [number % 2 == 1 for number in range(num_games)]
    states = machine.initial(num_games)
    counts: Counter[str] = Counter()
    while umpires:
        scores = [umpire.scores() for umpire in umpires]
        assert machine.terminal(states).tolist() == [text is not None for text in scores]
        for values, score in zip(machine.goals(states).tolist(), scores, strict=True):
            if score is not None:
                assert dict(zip(machine.roles, values, strict=True)) == score
                counts[f"white {score['white']}"] += 1
        running = [lane for lane, score in enumerate(scores) if score is None]
        states = states.take(np.array(running, dtype=np.int64))
        umpires, eager = [umpires[i] for i in running], [eager[i] for i in running]
        if not umpires:
            break
        legal = [machine.legal(states, role) for role in range(len(machine.roles))]
        rows, expected = [], []
        for lane, umpire in enumerate(umpires):
            joint = {}
            for role, moves in zip(machine.roles, legal, strict=True):
                legal_texts = umpire.legal(role)
                assert set(map(machine.move_text, moves[lane].tolist())) == legal_texts
                tempting = [m for m in legal_texts if m != "noop" and umpire.tempting(m)]
                joint[role] = rng.choice(
                    sorted(tempting if tempting and eager[lane] else legal_texts)
                )
            rows.append([machine.move_id(joint[role]) for role in machine.roles])
            counts["tries"] += 1
            counts.update(filter(None, (umpire.rare(m) for m in joint.values() if m != "noop")))
            expected.append(umpire.play(joint))
        stepped = machine.step(states, np.array(rows, dtype=np.int64))
        for percepts, seen in zip(stepped.percepts.tolist(), expected, strict=True):
            for role, percept in zip(machine.roles, percepts, strict=True):
                assert set(machine.percept_texts(percept)) == seen.get(role, set())
            counts.update(seen.get("white", ()))
        states = stepped.states
        for fluents, umpire in zip(machine.fluents(states), umpires, strict=True):
            assert {text for text in fluents if text.startswith("(cell ")} == umpire.cells()
    return counts


def main() -> None:
    """Compare as many games as wanted and say what occurred."""
    parser = argparse.ArgumentParser(description="Random games beside an umpire.")
    parser.add_argument("--game", choices=sorted(UMPIRES), default="kriegspiel")
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.process_time()
    counts = compare(options.game, UMPIRES[options.game], options.games, options.seed)
    merged: Counter[str] = Counter()
    for name, count in counts.items():
        merged["captured" if name.startswith("(captured") else name] += count
    print(f"{options.games} games, no disagreement, {time.process_time() - started:.1f} CPU s")
    for name, count in sorted(merged.items()):
        print(f"{count:8,} {name}")


if __name__ == "__main__":
    main()
