"""What it is worth to know how an opponent moves: poker against fixed opponents.

    python -m benchmarks.opponent_models --game kuhn_poker --players hyperplay2:n=4

A player is asked for its move at every information set of the game, and what it says is evaluated
against the opponent's strategy in the whole tree: there is no noise of deals. Noise of the player
remains, so it is asked `--samples` times; intervals are 95 % intervals of the mean over these.
Scores are means over both roles.

`learned` plays `--matches` matches first, in both roles in turn, and counts; each sample learns
anew. `true` is given the strategy of the opponent, and a style, such as `always_bets`, that of
another opponent. Counts decide and no clock, so the load of the computer changes nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ggp.belief.policy_models import Strategy, read_strategies, write_strategies
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.players import make_player, parse_spec
from ggp.solve import GameTree, Solution, history_of, solve
from ggp.solve.forest import evaluate
from match_runner.match.referee import play_match
from match_runner.match.seats import build_machines, set_up

GAMES = ("kuhn_poker", "leduc_poker")
ROLES = ("player1", "player2")
BOLD = ("raise", "bet", "call", "check")
"""The moves of poker, from the boldest one."""

MEEK = ("check", "fold")

Style = Callable[[str, str | None], Sequence[str]]
"""Of an opponent: its favourite moves, by the rank of its card and that of the public one."""


def always_bets(hand: str, public: str | None) -> Sequence[str]:
    """Bets and raises whatever it has."""
    return BOLD


def never_bluffs(hand: str, public: str | None) -> Sequence[str]:
    """Bets with a king or a pair, calls with a queen, and gives up with a jack."""
    if hand == "king" or hand == public:
        return BOLD
    return ("check", "call") if hand == "queen" else MEEK


STYLES: Mapping[str, Style | None] = {
    "always_bets": always_bets,
    "never_bluffs": never_bluffs,
    "random": lambda hand, public: (),
    "equilibrium": None,
}
"""Fixed opponents. Without a favourite move all are equally likely; None is the equilibrium."""


def strategies(solution: Solution, style: Style | None) -> dict[str, Strategy]:
    """What an opponent does at every information set; the equilibrium, if it has no style."""
    tree = solution.tree
    policies: dict[str, Strategy] = {}
    for player, (name, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
        shares = solution.profile.strategies[player]
        policies[name] = {}
        for number in range(len(sets)):
            history = tuple(
                (m, tuple(sorted(seen))) for m, seen in history_of(tree, player, number)
            )
            moves = [tree.machine.move_text(move) for move in sets.moves_of(number)]
            if style is None:
                start, end = sets.offsets[number : number + 2].tolist()
                policies[name][history] = dict(zip(moves, shares[start:end].tolist(), strict=True))
            else:
                ranks = dict(_percepts_of(history))
                preferred = style(ranks["dealt"], ranks.get("turned"))
                best = [move for move in preferred if move in moves][:1] or moves
                policies[name][history] = dict.fromkeys(best, 1 / len(best))
    return policies


def write_opponents(game: str, solution: Solution, folder: Path) -> dict[str, str]:
    """Policies of all fixed opponents, written to files; their player specs by name."""
    specs = {}
    for name, style in STYLES.items():
        file = folder / f"{game}-{name}.json"
        write_strategies(str(file), strategies(solution, style))
        specs[name] = f"policy:file={file}"
    return specs


def learn(game: str, player: str, opponent: str, matches: int, seed: int) -> None:
    """Play matches against an opponent, in both roles in turn."""
    program = load(game)
    machines = build_machines(program)
    for at in range(matches):
        role, opponent_role = ROLES if at % 2 == 0 else ROLES[::-1]
        arena = set_up(game, program, {role: player, opponent_role: opponent}, machines)
        record = play_match(arena, seed + at)
        if record.errors or any(turn.faults for turn in record.turns):
            raise SystemExit(f"a match went wrong: {record.errors or record.turns}")


def score(tree: GameTree, player: str, opponent: Mapping[str, Strategy], seed: int) -> float:
    """The worth of a player's decisions against strategies, as the mean over the roles."""
    spec = parse_spec(player)
    scores = []
    for number_of_player in range(len(tree.names)):
        profile = []
        for at, (name, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
            shares = np.zeros(int(sets.offsets[-1]))
            shares[: tree.num_subgames] = 1
            for number in range(len(sets)):
                history = history_of(tree, at, number)
                if at == number_of_player:
                    role = tree.machine.roles.index(name)
                    thinker = make_player(
                        spec, tree.machine, role, np.random.default_rng([seed, number])
                    )
                    for move, seen in history:
                        thinker.observe(move, seen)
                    decision = thinker.choose()
                    if decision.fault is not None:
                        raise SystemExit(f"{player} fell back: {decision.fault}")
                    probability_of: Mapping[str, float] = {decision.move: 1.0}
                else:
                    probability_of = opponent[name][
                        tuple((m, tuple(sorted(s))) for m, s in history)
                    ]
                start, end = sets.offsets[number : number + 2].tolist()
                moves = [tree.machine.move_text(move) for move in sets.moves_of(number)]
                shares[start:end] = [probability_of.get(move, 0.0) for move in moves]
            profile.append(shares)
        scores.append(evaluate(tree, tuple(profile)).values[number_of_player])
    return float(np.mean(scores))


def interval(values: Sequence[float]) -> str:
    """A mean with its 95 % interval, where there are several values."""
    from scipy.stats import t  # which takes long to import

    if len(values) < 2:
        return f"{values[0]:.1f}"
    error = float(t.ppf(0.975, len(values) - 1)) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.1f} ± {error:.1f}"


def _percepts_of(history: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[str, str]]:
    words = [seen.strip("()").split() for _, percepts in history for seen in percepts]
    return [(word[0], word[1]) for word in words if len(word) == 2]


def with_model(player: str, model: str) -> str:
    """The spec with the option `model`."""
    return f"{player}{',' if ':' in player else ':'}model={model}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=GAMES, default="kuhn_poker")
    parser.add_argument("--players", nargs="+", default=["hyperplay2:n=4", "ismcts:trials=2000"])
    parser.add_argument("--opponents", nargs="+", default=None, help="default: all")
    parser.add_argument("--models", nargs="+", default=["uniform", "learned", "true"])
    parser.add_argument("--matches", type=int, default=100, help="to learn from")
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        solution = solve(build_machine(load(options.game)))
        specs = write_opponents(options.game, solution, folder)
        files = {style: spec.partition("=")[2] for style, spec in specs.items()}
        for player in options.players:
            for opponent in options.opponents or specs:
                policies = read_strategies(files[opponent])
                row = []
                for model in options.models:
                    scores = []
                    for sample in range(options.samples):
                        text = f"policy:{files[model]}" if model in files else model
                        if model == "true":
                            text = f"policy:{files[opponent]}"
                        if model == "learned":
                            text = f"learned:{folder}/{opponent}-{sample}-counts.json"
                            Path(text.partition(":")[2]).unlink(missing_ok=True)
                            spec = with_model(player, text)
                            learn(
                                options.game, spec, specs[opponent], options.matches, 1000 * sample
                            )
                        scores.append(
                            score(solution.tree, with_model(player, text), policies, sample)
                        )
                    row.append(f"{model} {interval(scores)}")
                print(f"{options.game} {player} against {opponent}: {'; '.join(row)}", flush=True)


if __name__ == "__main__":
    main()
