"""Pictures of the pages that explain an idea, each computed from a game that comes with ggp.

python scripts/idea_pictures.py                # all, into docs/figures
python scripts/idea_pictures.py --only particle
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import matplotlib
import numpy as np

import ggp
from ggp.belief import How
from ggp.machine import build_machine
from ggp.machine.base import IntArray, Machine, States

matplotlib.use("agg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"

OURS, THEIRS, QUIET = "#00796b", "#d84315", "#9e9e9e"
"""Colours that are told apart by most people, on light and on dark pages."""

BOARD = 3

CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}


def particle() -> Figure:
    """Boards that one player of noughts and crosses in the dark may be on, with their weights."""
    game = ggp.load("krieg_tic_tac_toe")
    told = [
        ("(mark 2 2)", []),
        ("noop", []),
        ("noop", ["your_move"]),
        ("(mark 1 1)", []),
        ("noop", ["your_move"]),
    ]
    belief = game.belief("xplayer", told)
    order = np.argsort(-belief.weights, kind="stable")
    shown = [int(order[at]) for at in np.linspace(0, len(order) - 1, 9).astype(int)]
    figure, axes = pyplot.subplots(2, 5, figsize=(9, 4.2))
    flat = axes.ravel()
    known = {fluent for fluent in belief.particles[0].fluents if "xplayer" in fluent}
    _board(flat[0], known, unknown=True)
    flat[0].set_title("what x knows", fontsize=10)
    for axis, at in zip(flat[1:], shown, strict=True):
        _board(axis, set(belief.particles[at].fluents))
        axis.set_title(f"{belief.weights[at]:.1%}", fontsize=10)
    figure.suptitle(f"9 of the {len(belief)} boards on which x may be", fontsize=11)
    return figure


def simulation() -> Figure:
    """Asking and waiting, as HyperPlay and HyperPlay-II value them, at growing effort."""
    game = ggp.load("exploding_bomb")
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, player, title in zip(
        axes, ("hyperplay", "hyperplay2"), ("HyperPlay", "HyperPlay-II"), strict=True
    ):
        efforts = (2, 3, 4, 5, 6, 7, 8)
        for move, colour in (("ask", OURS), ("wait", THEIRS)):
            values, spread = np.transpose(
                [_value(game, f"{player}:n={effort}", move) for effort in efforts]
            )
            axis.errorbar(efforts, values, spread, color=colour, marker="o", capsize=3, label=move)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("n: particles, and playouts or simulations from each")
        axis.set_ylim(0, 100)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("value of the move")
    axes[0].legend(frameon=False)
    return figure


def strategy_fusion() -> Figure:
    """The two trees in which search with open cards errs: who wins where, and who is in doubt."""
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6))
    games = (("strategy_fusion", "max"), ("non_locality", "min"))
    for row, (name, asked) in zip(axes, games, strict=True):
        game = ggp.load(name)
        for world, axis in zip((1, 2), row, strict=True):
            axis.set_title(f"{name}, world {world}", fontsize=11)
            axis.set(xlim=(-1.1, 1.1), ylim=(-3.3, 0.3))
            axis.axis("off")
            state, _ = game.initial().play(
                {"max": "noop", "min": "noop", "random": f"(world {world})"}
            )
            _tree(axis, state, asked, 0.0, 0.0)
    return figure


def opponent_models() -> Figure:
    """What calling with a queen is worth in Kuhn poker, by how the other is believed to bet."""
    game = ggp.load("kuhn_poker")
    bets = {"even moves": None, "always bets": (1, 1), "bluffs as it should": (1 / 3, 1)}
    bets["never bluffs"] = (0, 1)
    with TemporaryDirectory() as folder:
        values = [
            _worth_of_calling(game, Path(folder) / "model.json", each) for each in bets.values()
        ]
    figure, axis = pyplot.subplots(figsize=(9, 2.6))
    axis.barh(list(bets), values, color=OURS, height=0.6)
    axis.axvline(25, color=THEIRS, lw=2)
    axis.text(25.5, -0.75, "fold: 25 for certain", color=THEIRS, fontsize=9)
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="value of calling")
    axis.grid(axis="x", alpha=0.3)
    return figure


def exact() -> Figure:
    """How many states a role may be in, turn by turn, while it plays at random."""
    figure, axis = pyplot.subplots(figsize=(9, 3.8))
    games = {
        "krieg_tic_tac_toe": "xplayer",
        "battleships_in_fog": None,
        "blind_breakthrough": None,
        "kriegspiel_5x5": None,
    }
    for (name, role), marker in zip(games.items(), "osv^", strict=True):
        game = ggp.load(name)
        role = role or next(each for each in game.roles if each != "random")
        sizes = _sizes(game, role, turns=24)
        exact_until = max(at for at, (_, how) in enumerate(sizes) if how is How.EXACT)
        turns = np.arange(len(sizes))
        line = axis.plot(turns, [size for size, _ in sizes], marker=marker, ms=5, label=name)[0]
        late = turns[exact_until + 1 :]
        axis.plot(late, [sizes[at][0] for at in late], marker, ms=9, mfc="none", c=line.get_color())
    axis.axhline(10_000, color=QUIET, ls="--", lw=1)
    axis.text(23, 11_500, "enumerated below, sampled above", ha="right", color=QUIET, fontsize=9)
    axis.set_yscale("log")
    axis.set_xlabel("turn")
    axis.set_ylabel("different states in the bag")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=9)
    return figure


def circuit() -> Figure:
    """Sixty-four matches of tic-tac-toe in sixty-four columns: three cells, and their row."""
    machine = build_machine(ggp.load("tic_tac_toe").program)
    states = machine.initial(64)
    rng = np.random.default_rng(4)
    for _ in range(7):
        going = np.flatnonzero(~machine.terminal(states))
        joint = np.column_stack(
            [_random_moves(machine, states.take(going), role, rng) for role in (0, 1)]
        )
        after = machine.step(states.take(going), joint).states
        over = states.take(np.flatnonzero(machine.terminal(states)))
        states = machine.concatenate([after, over])
    cells = [f"(marked {row} {column} xplayer)" for row, column in ((1, 1), (2, 2), (3, 3))]
    texts = machine.fluents(states)
    bits = np.array([[cell in lane for lane in texts] for cell in cells])
    rows = np.vstack([bits, bits.all(axis=0)])
    figure, axis = pyplot.subplots(figsize=(9, 2))
    shades = rows.astype(float)
    shades[-1] *= 2
    colours = matplotlib.colors.ListedColormap(["#eceff1", OURS, THEIRS])
    axis.pcolormesh(shades, cmap=colours, vmin=0, vmax=2, edgecolors="white", linewidth=0.6)
    axis.invert_yaxis()
    axis.set_yticks(np.arange(4) + 0.5, [*cells, "diagonal of x  (AND)"], fontsize=8)
    axis.set_xticks([0.5, 15.5, 31.5, 47.5, 63.5], ["lane 1", "16", "32", "48", "64"], fontsize=8)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    return figure


def _board(axis: Axes, fluents: set[str], unknown: bool = False) -> None:
    for at in range(1, BOARD):
        axis.plot([at, at], [0, BOARD], color=QUIET, lw=1)
        axis.plot([0, BOARD], [at, at], color=QUIET, lw=1)
    for row in range(1, BOARD + 1):
        for column in range(1, BOARD + 1):
            sign, colour = ("?", QUIET) if unknown else ("", QUIET)
            for role, mark, shade in (("xplayer", "x", OURS), ("oplayer", "o", THEIRS)):
                if f"(marked {row} {column} {role})" in fluents:
                    sign, colour = mark, shade
            size = 12 if sign == "?" else 20
            place = column - 0.5, row - 0.5
            axis.text(*place, sign, color=colour, size=size, ha="center", va="center")
    axis.set(xlim=(0, BOARD), ylim=(BOARD, 0), aspect="equal")
    axis.axis("off")


def _tree(axis: Axes, state: ggp.State, asked: str, x: float, y: float, side: float = 0.5) -> None:
    """Draw what follows from a state; the last choice of the role `asked` has a dashed ring."""
    if state.terminal:
        wins = state.goals["max"] == 100
        axis.text(
            x, y, "Max wins" if wins else "Min wins", color=OURS if wins else THEIRS, **CENTRED
        )
        return
    movers = [role for role in ("max", "min") if len(state.legal(role)) > 1]
    if not movers:
        _tree(
            axis, state.play(dict.fromkeys(("max", "min", "random"), "noop"))[0], asked, x, y, side
        )
        return
    (mover,) = movers
    in_doubt = mover == asked and y < 0
    for at, move in zip((x - side, x + side), sorted(state.legal(mover)), strict=True):
        if at > x and _same(state, mover):
            continue
        at = x if _same(state, mover) else at
        label = "either" if at == x else move.strip("()").removeprefix("go ")
        axis.plot([x, at], [y - 0.12, y - 0.88], color=QUIET, lw=1)
        axis.text((x + at) / 2, y - 0.5, label, backgroundcolor="white", fontsize=8, **CENTRED)
        others = dict.fromkeys({"max", "min", "random"} - {mover}, "noop")
        _tree(axis, state.play({mover: move, **others})[0], asked, at, y - 1, side)
    ring = {"boxstyle": "round", "fc": "white", "ec": THEIRS, "ls": "--"} if in_doubt else None
    axis.text(x, y, mover.title(), bbox=ring, weight="bold", **CENTRED)


def _same(state: ggp.State, mover: str) -> bool:
    """Whether it makes no difference which of its moves a role makes."""
    others = dict.fromkeys({"max", "min", "random"} - {mover}, "noop")
    after = [state.play({mover: move, **others})[0] for move in state.legal(mover)]
    return len({each.fluents for each in after}) == 1 and not after[0].terminal


def _worth_of_calling(game: ggp.Game, file: Path, bets: tuple[float, float] | None) -> float:
    """Value of calling with a queen if a jack and a king bet with these probabilities."""
    spec = "hyperplay:n=8"
    if bets is not None:
        strategy = [
            {
                "history": [{"move": "noop", "percepts": [f"(dealt {card})"]}],
                "moves": {"bet": share, "check": 1 - share},
            }
            for card, share in zip(("jack", "king"), bets, strict=True)
        ]
        file.write_text(json.dumps({"strategy": {"player1": strategy}}))
        spec += f",model=policy:{file}"
    player = game.player("player2", spec, seed=1)
    player.observe("noop", ["(dealt queen)"])
    player.observe("noop", ["bet"])
    (found,) = [each for each in player.choose().values if each.move == "call"]
    assert found.value is not None
    return found.value


def _value(game: ggp.Game, spec: str, move: str) -> tuple[float, float]:
    """Value and standard error of a move at the turn in which the agent may ask."""
    agent = game.player("agent", spec, seed=1)
    agent.observe("noop", [])
    (found,) = [each for each in agent.choose().values if each.move == move]
    assert found.value is not None
    return found.value, found.stderr or 0.0


def _sizes(game: ggp.Game, role: str, turns: int) -> list[tuple[int, How]]:
    """Of each turn, how many different states the bag of a role has, and how it was made."""
    state, rng = game.initial(), np.random.default_rng(3)
    history: list[tuple[str, Sequence[str]]] = []
    sizes: list[tuple[int, How]] = []
    for turn in range(turns):
        if state.terminal:
            break
        belief = game.belief(role, history, particles=20_000)
        sizes.append((belief.quality.distinct, belief.quality.how))
        moves = {
            each: str(rng.choice(state.legal(each))) for each in game.roles if each != "random"
        }
        state, percepts = state.play(moves, seed=turn)
        history.append((moves[role], percepts[role]))
    return sizes


def _random_moves(
    machine: Machine, states: States, role: int, rng: np.random.Generator
) -> IntArray:
    """A legal move of a role for each lane."""
    moves = machine.legal(states, role)
    drawn = (rng.random(len(states)) * moves.counts).astype(int)
    found: IntArray = moves.values[moves.offsets[:-1] + drawn]
    return found


PICTURES: dict[str, Callable[[], Figure]] = {
    "particle": particle,
    "simulation": simulation,
    "strategy-fusion": strategy_fusion,
    "opponent-models": opponent_models,
    "exact-belief": exact,
    "circuit": circuit,
}


@click.command()
@click.option("--only", type=click.Choice(sorted(PICTURES)), help="Draw this one alone.")
@click.option("--out", type=click.Path(path_type=Path), default=FIGURES, show_default=True)
def main(only: str | None, out: Path) -> None:
    """Draw the pictures of the pages that explain an idea."""
    for name in [only] if only else PICTURES:
        figure = PICTURES[name]()
        figure.savefig(out / f"idea-{name}.png", dpi=110, bbox_inches="tight")
        pyplot.close(figure)
        click.echo(out / f"idea-{name}.png")


if __name__ == "__main__":
    main()
