"""The distinct successors of a pool of boards, against all completions listed one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from ggp.belief import PathTree, never
from ggp.belief.turns.completions import OpenTurn, Polling, lanes_at_once, list_completions
from ggp.belief.turns.one_turn import LIST_LIMIT
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.labs.kriegspiel import samplers as pool_samplers
from ggp.labs.kriegspiel.samplers import distinct_successors
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, States
from tests.support.games import machine_of_game

ALL = 10**6
GAMES = ("krieg_tic_tac_toe", "kriegspiel_5x5")


def after_all_moves(machine: Machine, states: States) -> States:
    """The different states after any joint move."""
    successors = {}
    for lane in range(len(states)):
        state = states.take(np.array([lane]))
        for first in machine.legal(state, 0)[0]:
            for second in machine.legal(state, 1)[0]:
                successor = machine.step(state, np.array([[first, second]])).states
                successors[machine.fluents(successor)[0]] = successor
    return machine.concatenate(list(successors.values()))


def turn_of(game: str) -> OpenTurn:
    """Boards on which the other role is to move, its moves, and what we see after most of them."""
    machine = machine_of_game(game, "propnet")
    boards = machine.initial(1)
    for _ in range(3):
        boards = after_all_moves(machine, boards)
    boards = boards.take(np.flatnonzero(machine.legal(boards, 0).counts == 1)[:300])
    noop = int(machine.legal(boards, 0)[0][0])
    unknown = np.full(len(boards), UNKNOWN)
    learnt = Learnt(np.full(len(boards), noop), unknown, unknown)
    options = open_moves(machine, 0, boards, learnt)
    lanes = np.arange(len(boards))
    joint, _ = options.joint(lanes, np.zeros(len(boards), dtype=np.int64))
    seen = Counter(machine.step(boards.take(lanes), joint).percepts[:, 0].tolist())
    percepts = np.full(len(boards), seen.most_common(1)[0][0])
    return OpenTurn(machine, 0, boards, options, percepts)


def successors_of(
    turn: OpenTurn,
    most: int,
    at_once: Callable[[], int] = lanes_at_once,
    stop: Callable[[], bool] = never,
    seed: int = 0,
) -> tuple[list[tuple[str, ...]], float]:
    rng = np.random.default_rng(seed)
    states, parents, born = distinct_successors(turn, most, rng, Polling(stop, at_once))
    assert len(parents) == len(states)
    assert (parents > 0).all()
    return turn.machine.fluents(states), born


def expected(turn: OpenTurn) -> Counter[tuple[str, ...]]:
    """In how many ways each state is reached that agrees and is not the end."""
    listed, _ = list_completions(turn, np.arange(len(turn.states)), Polling())
    return Counter(turn.machine.fluents(listed.states))


@pytest.mark.parametrize("game", GAMES)
def test_all_successors_are_found_if_they_are_not_too_many(game: str) -> None:
    turn = turn_of(game)
    ways = expected(turn)
    assert len(ways) > 100
    assert max(ways.values()) > 1
    for size in (97, 1000, 10**6):
        successors, born = successors_of(turn, ALL, lambda size=size: size)  # type: ignore[misc]
        assert len(set(successors)) == len(successors)
        assert set(successors) == set(ways)
        assert born == sum(ways.values())


@pytest.mark.parametrize("game", GAMES)
def test_enough_of_too_many_successors_are_drawn_at_random(game: str) -> None:
    turn = turn_of(game)
    ways = expected(turn)
    often: Counter[tuple[str, ...]] = Counter()
    for seed in range(100):
        successors, born = successors_of(turn, 50, lambda: 40, seed=seed)
        assert 50 < len(successors) <= 90
        assert len(set(successors)) == len(successors)
        assert set(successors) < set(ways)
        assert born == pytest.approx(sum(ways.values()), rel=0.6)
        often.update(successors)
    assert len(often) > 0.9 * len(ways)
    # A state that is reached in twice as many ways is drawn about twice as often.
    by_ways: dict[int, list[float]] = {}
    for fluents, count in ways.items():
        by_ways.setdefault(count, []).append(often[fluents] / count)
    means = [np.mean(shares) for shares in by_ways.values() if len(shares) > 50]
    assert means == pytest.approx(np.full(len(means), np.mean(means)), rel=0.25)


def test_no_successors_are_made_after_the_time_is_up() -> None:
    turn = turn_of("krieg_tic_tac_toe")
    successors, _ = successors_of(turn, ALL, lambda: 40, lambda: True)
    assert 0 < len(successors) <= 40


def test_boards_without_legal_moves_have_no_successors() -> None:
    turn = turn_of("krieg_tic_tac_toe")
    turn.options.counts[:] = 0.0
    successors, born = successors_of(turn, ALL)
    assert (successors, born) == ([], 0.0)


def sizes_of_pools(turns: list[tuple[int, int]], seed: int) -> list[int]:
    """How many boards a small pool has after each turn: our move, and what we saw."""
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    sampler = pool_samplers.Pool(machine, PathTree(machine), pool=200, capacity=8)
    rng, bags = np.random.default_rng(seed), sampler.start(0)
    sizes = []
    for move, percepts in turns:
        bags = sampler.advance(bags, np.array([move]), np.array([percepts]), rng)
        sizes.append(len(bags.sets.states))
    return sizes


@pytest.mark.verify
def test_pools_survive_as_long_as_if_all_successors_were_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Boards that are reached in several ways are kept more often; that does them no harm."""
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    differences = []
    for game in range(60):
        rng, state = np.random.default_rng(game), machine.initial(1)
        turns = []
        for _ in range(80):
            legal = [machine.legal(state, role)[0] for role in range(2)]
            joint = np.array([[int(rng.choice(moves)) for moves in legal]])
            stepped = machine.step(state, joint)
            if machine.terminal(stepped.states)[0]:
                break
            turns.append((int(joint[0, 0]), int(stepped.percepts[0, 0])))
            state = stepped.states
        log_sizes = []
        for limit in (LIST_LIMIT, -1):  # more completions of a board than that: all are made
            monkeypatch.setattr(pool_samplers, "LIST_LIMIT", limit)
            sizes = [sizes_of_pools(turns, seed) for seed in range(4)]
            log_sizes.append(float(np.mean(np.log1p(sizes))))
        differences.append(log_sizes[0] - log_sizes[1])
    error = np.std(differences) / np.sqrt(len(differences))
    assert np.mean(differences) == pytest.approx(0, abs=3 * error)
    assert error < 0.1
