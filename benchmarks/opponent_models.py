"""What it is worth to know how an opponent moves: matches of poker against fixed opponents.

    python -m benchmarks.opponent_models --game kuhn_poker --players hyperplay2:n=4 --matches 200

Every cell is a series against one opponent, in both roles in turn. The same series is played with
`model=uniform` and with each model, with the same deals; what is printed is the mean score with
`uniform`, and by how much it changes with each model. Counts decide and no clock, so the load of
the computer changes nothing. `learned` begins each series with nothing learned.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ggp.belief.strategies import Strategy, write_strategies
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.base import FloatArray
from ggp.solve import Solution, history_of, solve
from match_runner.match.referee import play_match
from match_runner.match.seats import build_machines, set_up

GAMES = ("kuhn_poker", "leduc_poker")
ROLES = ("player1", "player2")
BOLD = ("raise", "bet", "call", "check")
"""The moves of poker, from the boldest one."""

MEEK = ("check", "fold")

Style = Callable[[str, str | None], Sequence[str]]
"""Of an opponent: its favourite moves, by the rank of its card and that of the public one."""


def always_bets(own: str, public: str | None) -> Sequence[str]:
    """Bets and raises whatever it has."""
    return BOLD


def never_bluffs(own: str, public: str | None) -> Sequence[str]:
    """Bets with a king or a pair, calls with a queen, and gives up with a jack."""
    if own == "king" or own == public:
        return BOLD
    return ("check", "call") if own == "queen" else MEEK


STYLES: Mapping[str, Style | None] = {
    "always_bets": always_bets,
    "never_bluffs": never_bluffs,
    "random": lambda own, public: (),
    "equilibrium": None,
}
"""Fixed opponents. Without a favourite move all are equally likely; None is the equilibrium."""


def strategies(solution: Solution, style: Style | None) -> dict[str, Strategy]:
    """What an opponent does at every information set; the equilibrium, if it has no style."""
    tree = solution.tree
    found: dict[str, Strategy] = {}
    for player, (name, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
        shares = solution.profile.strategies[player]
        found[name] = {}
        for number in range(len(sets)):
            history = tuple(
                (m, tuple(sorted(seen))) for m, seen in history_of(tree, player, number)
            )
            moves = [tree.machine.move_text(move) for move in sets.moves_of(number)]
            if style is None:
                start, end = sets.offsets[number : number + 2].tolist()
                found[name][history] = dict(zip(moves, shares[start:end].tolist(), strict=True))
            else:
                ranks = dict(_told(history))
                wanted = style(ranks["dealt"], ranks.get("turned"))
                made = [move for move in wanted if move in moves][:1] or moves
                found[name][history] = dict.fromkeys(made, 1 / len(made))
    return found


def write_opponents(game: str, folder: Path) -> dict[str, str]:
    """Policies of all fixed opponents, written to files; their player specs by name."""
    solution = solve(build_machine(load(game)))
    specs = {}
    for name, style in STYLES.items():
        file = folder / f"{game}-{name}.json"
        write_strategies(str(file), strategies(solution, style))
        specs[name] = f"policy:file={file}"
    return specs


def scores(game: str, player: str, opponent: str, matches: int, seed: int = 0) -> FloatArray:
    """What a player gets in each match of a series, in both roles in turn."""
    program = load(game)
    machines = build_machines(program)
    found = []
    for role, other in (ROLES, ROLES[::-1]):
        arena = set_up(game, program, {role: player, other: opponent}, machines)
        found.append((role, arena))
    goals = []
    for k in range(matches):
        role, arena = found[k % 2]
        record = play_match(arena, seed + k // 2)
        if record.errors or any(turn.faults for turn in record.turns):
            raise SystemExit(f"a match went wrong: {record.errors or record.turns}")
        goals.append(record.goals[role])
    return np.array(goals, dtype=float)


def interval(values: FloatArray) -> str:
    """A mean with its 95 % interval."""
    error = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ± {error:.1f}"


def _told(history: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[str, str]]:
    words = [seen.strip("()").split() for _, percepts in history for seen in percepts]
    return [(each[0], each[1]) for each in words if len(each) == 2]


def with_model(player: str, model: str) -> str:
    """The spec with the option `model`."""
    return f"{player}{',' if ':' in player else ':'}model={model}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=GAMES, default="kuhn_poker")
    parser.add_argument("--players", nargs="+", default=["hyperplay2:n=4", "ismcts:trials=2000"])
    parser.add_argument("--opponents", nargs="+", default=None, help="default: all")
    parser.add_argument("--models", nargs="+", default=["learned"])
    parser.add_argument("--matches", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opponents = write_opponents(asked.game, folder)
        files = {kind: f"policy:{folder}/{asked.game}-{kind}.json" for kind in opponents}
        for player in asked.players:
            for opponent in asked.opponents or opponents:
                spec = opponents[opponent]
                usual = scores(asked.game, player, spec, asked.matches)
                row = [f"uniform {interval(usual)}"]
                for model in asked.models:
                    text = files.get(model, model)
                    if model == "learned":
                        text = f"learned:{folder}/{asked.game}-{player}-{opponent}-counts.json"
                        text = text.replace(",", "-")
                    if model == "true":  # the opponent's own strategy
                        text = files[opponent]
                    got = scores(asked.game, with_model(player, text), spec, asked.matches)
                    row.append(f"{model} {interval(got)} ({interval(got - usual)})")
                print(f"{asked.game} {player} against {opponent}: {'; '.join(row)}", flush=True)


if __name__ == "__main__":
    main()
