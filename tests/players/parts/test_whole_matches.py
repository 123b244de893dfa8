"""Whole matches of the kinds in which particles are hard to find: no turn is without a sound one.

Soundness is checked without the package: by the ships that fit the percepts, counted one by one; by
the remaining cards; and by umpires of chess without sight, which replay the histories of particles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import combinations, islice

import numpy as np
import pytest

from benchmarks.sheets import SHEETS
from ggp.belief import HyperPlaySampler, PathTree
from ggp.gdl.normalize import load
from ggp.machine.base import IntArray
from ggp.players.parts import belief_player
from ggp.players.parts.search_player import SearchPlayer
from tests.belief.solving.test_solving import coins
from tests.games.dark_chess_umpires import SpielUmpire
from tests.games.kriegspiel_games import UMPIRES, BoardUmpire
from tests.support.effort import rarely
from tests.support.followed import Looked, follow
from tests.support.games import build_here, machine_of_game, machine_of_rules
from tests.support.sheets.fleets import Cell, Seen, Ship, covers, fleets, rules

PLAYERS = {
    "random": "random",
    "legal": "legal",
    "hyperplay": "hyperplay:n=2",
    "hyperplay2": "hyperplay2:n=2",
    "over": "over:depth=1,histories=20",
    "aosp": "aosp:worlds=4,steps=200,pool=600",
}

names = pytest.mark.parametrize("name", PLAYERS)


# ---------------------------------------------------------------- ships, and scans


@names
@pytest.mark.parametrize("role", rarely(["west", "east"], {"east"}))
@pytest.mark.parametrize("size", rarely([3, 4], {4}))
def test_believed_ships_fit_the_percepts(size: int, role: str, name: str) -> None:
    machine = machine_of_rules(rules(size), "propnet")
    turns = 0
    for looked in follow(machine, role, PLAYERS[name], seed=1, script=scans_first):
        looked.assert_sound()
        turns += 1
        if looked.path:
            assert_fits(looked, role, size)
    assert turns > 5


def scans_first(turn: int, role: str, legal: list[str]) -> str | None:
    """Both roles scan twice before anything else."""
    return "scan" if turn < 5 and "scan" in legal else None


def assert_fits(looked: Looked, role: str, size: int) -> None:
    """The opponent's ships fit in all particles; an exact bag has all fleets that fit."""
    opponent = {"west": "east", "east": "west"}[role]
    mine = frozenset(ships_of("mine", looked.path[0][1]))
    seen = Seen([], [], [])
    for move, percepts in looked.path[1:]:
        if move == "scan":
            seen.scans.append(frozenset(ships_of("shown", percepts)))
        if move.startswith("(fire"):
            seen.hits.extend(places_of("hit", percepts))
            seen.misses.extend(places_of("miss", percepts))
    believed = set[frozenset[Ship]]()
    for fluents in looked.fluents():
        assert frozenset(ships_of(f"has {role}", fluents)) == mine
        fleet = frozenset(ships_of(f"has {opponent}", fluents))
        assert seen.fits(fleet)
        assert f"(turn {len(looked.path) - 1})" in fluents
        believed.add(fleet)
    if looked.decision.exact:
        assert believed == {fleet for fleet in fleets(size) if seen.fits(fleet)}


def ships_of(name: str, terms: tuple[str, ...]) -> list[Ship]:
    """The ships in terms such as `(has west (along 1 2))`."""
    form = re.compile(rf"\({name} \((\w+) (\d+) (\d+)\)\)")
    matches = filter(None, map(form.fullmatch, terms))
    return [(match[1], int(match[2]), int(match[3])) for match in matches]


def places_of(name: str, terms: tuple[str, ...]) -> list[Cell]:
    """The cells in terms such as `(hit 1 2)`."""
    matches = filter(None, map(re.compile(rf"\({name} (\d+) (\d+)\)").fullmatch, terms))
    return [(int(match[1]), int(match[2])) for match in matches]


def test_all_ships_are_counted() -> None:
    assert len(fleets(4)) == 224
    assert all(len({cell for ship in fleet for cell in covers(ship)}) == 4 for fleet in fleets(3))


# ---------------------------------------------------------------- three cards


@pytest.mark.verify
@names
@pytest.mark.parametrize("role", ["holder", "guesser"])
def test_three_cards_of_many_are_known_exactly_in_every_turn(role: str, name: str) -> None:
    (sheet,) = (sheet for sheet in SHEETS if sheet.stem == "three_cards")
    machine = build_here(load(str(sheet)), "propnet")
    sizes = list[int]()
    for looked in follow(machine, role, PLAYERS[name], seed=2, observe_s=2.0):
        looked.assert_sound()
        discards = {int(card) for card in re.findall(r"\(play(?:ed)? (\d+)\)", str(looked.path))}
        hands = {
            frozenset(int(card) for card in re.findall(r"\(hand (\d+)\)", " ".join(fluents)))
            for fluents in looked.fluents()
        }
        if not looked.path:
            continue
        num_left = 3 - len(discards)
        assert all(len(hand) == num_left and not hand & discards for hand in hands)
        if role == "holder":
            got = {int(card) for card in re.findall(r"\d+", str(looked.path[0][1]))}
            assert hands == {frozenset(got - discards)}
        elif name != "aosp":  # a pool does not say that it is all
            assert looked.decision.exact
            rest = {*range(1, 53)} - discards
            assert hands == set(map(frozenset, combinations(rest, num_left)))
        sizes.append(len(hands))
    assert sizes == [1, 1, 1] or name == "aosp" or sizes == [22_100, 1_275, 50]


# ---------------------------------------------------------------- coins


@pytest.mark.parametrize("number", rarely([18, 24, 60], {24, 60}))
@pytest.mark.parametrize("name", [name for name in PLAYERS if name != "aosp"])
def test_players_find_the_one_path_of_coins(name: str, number: int) -> None:
    """Not `aosp`: an empty pool is refilled by a search for single histories, not by solving."""
    machine = machine_of_rules(coins(number), "propnet")

    def all_heads(turn: int, role: str, legal: list[str]) -> str | None:
        return "heads" if role == "random" else None

    turns = 0
    for looked in follow(machine, "seer", PLAYERS[name], seed=0, script=all_heads):
        looked.assert_sound()
        turns += 1
    assert turns == number + 2
    assert looked.fluents() == [(f"(at {number + 1})",)]


# ---------------------------------------------------------------- chess without sight


ON_BOARDS = {
    "random": "random",
    "legal": "legal",
    "hyperplay": "hyperplay:particles=30,playouts=2",
    "over": "over:depth=1,histories=20,particles=30",
    "aosp": "aosp:worlds=4,steps=200,pool=600",
}
"""Not `hyperplay2`: a simulation is a whole game in which every role thinks."""


MAX_DECISIONS = {
    "kriegspiel_5x5": 10_000,
    "kriegspiel": 75,
    "dark_chess_4x4": 10_000,
    "dark_chess": 75,
}
"""On the 8x8 board only the first decisions: by the 80th, `hyperplay` has no particle left, and
without a clock it solves for some with 200,000 conflicts, each of 3 ms on 79 unrolled boards."""


@pytest.mark.verify
@pytest.mark.parametrize("name", ON_BOARDS)
@pytest.mark.parametrize("game", MAX_DECISIONS)
def test_umpires_confirm_the_histories_of_particles(
    game: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Particles of every player keep the moves of both sides, so that they can be replayed."""
    keeping = partial(HyperPlaySampler, keep_views=True)
    monkeypatch.setattr(belief_player, "HyperPlaySampler", keeping)
    monkeypatch.setattr(SearchPlayer, "keep_views", True)
    machine = machine_of_game(game, "propnet")
    if game in DARK:
        pytest.importorskip("pyspiel")
    umpires, replayed = Umpires(game), 0
    # Without a clock nothing is added to a pool.
    observe_s = 2.0 if name == "aosp" else None
    match = follow(machine, "white", ON_BOARDS[name], seed=1, observe_s=observe_s)
    for looked in islice(match, MAX_DECISIONS[game]):
        looked.assert_sound()
        replayed += umpires.check(looked)
    assert replayed > (20 if game != "dark_chess_4x4" else 2)


DARK: dict[str, Callable[[], BoardUmpire]] = {
    "dark_chess": lambda: SpielUmpire(8),
    "dark_chess_4x4": lambda: SpielUmpire(4),
}

History = tuple[tuple[str, str], ...]
"""Moves of white and black, turn by turn."""


class Umpires:
    """Umpires after each history of particles; each turn is played once."""

    def __init__(self, game: str) -> None:
        self._umpires: dict[History, tuple[BoardUmpire, tuple[str, ...]]] = {
            (): ((UMPIRES | DARK)[game](), ())
        }

    def check(self, looked: Looked) -> bool:
        """All particles are games with the moves and percepts of white.

        A bag that replaced an empty one has states without histories: there only the own pieces are
        compared.

        Returns:
            whether histories were replayed.
        """
        white_pieces = pieces(looked.truth, "white")
        assert all(pieces(fluents, "white") == white_pieces for fluents in looked.fluents())
        if looked.bag.sets.views is None:
            return False
        for history, fluents in zip(histories(looked), looked.fluents(), strict=True):
            assert [white for white, _ in history] == [move for move, _ in looked.path]
            for turn, (_, seen) in enumerate(looked.path):
                assert self._umpire_after(history[: turn + 1])[1] == seen
            umpire, _ = self._umpire_after(history)
            assert pieces(fluents, r"\w+") == umpire.cells()
            assert umpire.scores() is None
        return True

    def _umpire_after(self, history: History) -> tuple[BoardUmpire, tuple[str, ...]]:
        """The umpire after some turns, and its percepts for white in the last one."""
        if history not in self._umpires:
            umpire = deepcopy(self._umpire_after(history[:-1])[0])
            moves = dict(zip(umpire.roles, history[-1], strict=True))
            for role, move in moves.items():
                assert move in umpire.legal(role)
            seen = umpire.play(moves).get("white", set())
            self._umpires[history] = umpire, tuple(sorted(seen))
        return self._umpires[history]


def pieces(fluents: tuple[str, ...], colour: str) -> set[str]:
    """The pieces among some fluents."""
    form = re.compile(rf"\(cell \w+ \d+ {colour} \w+\)")
    return set(filter(form.fullmatch, fluents))


def histories(looked: Looked) -> list[History]:
    """The moves of both sides in each particle, from the views of both roles."""
    bag, tree, machine = looked.bag, looked.player.tracker.tree, looked.player.machine
    assert bag.sets.views is not None
    by_role = [moves_of(tree, views) for views in bag.sets.views[bag.lanes_of(0)].T]
    return [
        tuple(
            (machine.move_text(white), machine.move_text(black))
            for white, black in zip(*sides, strict=True)
        )
        for sides in zip(*by_role, strict=True)
    ]


def moves_of(tree: PathTree, nodes: IntArray) -> list[list[int]]:
    """`[N]` lists of the moves of paths."""
    turns = [tree.last_turns(ends)[:, 0] for ends in tree.beginnings(nodes)[1:]]
    if not turns:
        return [[] for _ in nodes]
    rows: list[list[int]] = np.column_stack(turns).tolist()
    return rows
