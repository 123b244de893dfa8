"""One game used by several threads at once: each gets the answers that a single thread gets."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import ggp
from ggp.errors import GGPError
from tests.support.games import BACKENDS, path_of_shared

THREADS = 8

RULES = ("kuhn_poker", "krieg_tic_tac_toe", "tic_tac_toe")
"""Hidden moves, percepts that bags must match, and plain GDL."""

LARGE = ("gdl2/mastermind.gdl", "gdl2/blind_breakthrough_5x5.gdl", "gdl1/breakthrough.kif")
"""With thousands of gates, and of moves."""

SEARCHED = {"prolog": ("kuhn_poker",), "relational": RULES}
"""Games of rules that players search without a circuit: in others each decision takes long."""

# Of one backend each; `tests/machine/test_threads.py` asks machines, which is quicker.
FAST = [
    ("krieg_tic_tac_toe", "propnet"),
    ("kuhn_poker", "prolog"),
    ("openspiel:kuhn_poker", "openspiel"),
]


pytestmark = pytest.mark.usefixtures("hurried")


def told_in_a_line(game: ggp.Game, seed: int, turns: int, player: str) -> list[object]:
    """All that the methods of a game, its states and its beliefs tell in one line of play.

    Args:
        player: spec of one that goes along; none where it is empty.
    """
    rng = np.random.default_rng(seed)
    state, answers = game.initial(), list[object]()
    role = [name for name in game.roles if name != "random"][seed % (len(game.roles) - 1)]
    history: list[tuple[str | None, tuple[str, ...] | None]] = []
    seated = game.player(role, player, seed=seed) if player else None
    for turn in range(turns):
        answers += [state.fluents, state.terminal, repr(state), hash(state) == hash(state)]
        answers.append(_or_error(partial(getattr, state, "goals")))
        answers.append(state.playout(seed=seed + turn))
        if state.terminal:
            break
        legal = {name: state.legal(name) for name in game.roles}
        answers.append(legal)
        moves = {name: str(rng.choice(options)) for name, options in legal.items()}
        if seated is not None:
            decision = seated.choose(value_forced=True)
            moves[role] = decision.move
            answers += [decision.move, decision.values, decision.states_visited]
        state, percepts = state.play(moves, seed=seed)
        answers.append(percepts)
        history.append((moves[role], percepts[role]))
        if seated is not None:
            seated.observe(*history[-1])
        answers += [_or_error(partial(_believed, game, role, history, seed, k)) for k in (0, 30)]
    answers.append(_or_error(lambda: game.belief(role, [(None, ("(no such thing)",))])))
    return answers


def _believed(
    game: ggp.Game,
    role: str,
    history: list[tuple[str | None, tuple[str, ...] | None]],
    seed: int,
    exact: int,
) -> list[object]:
    belief = game.belief(role, history, particles=20, exact=exact, seed=seed)
    first = belief.fluents[0]
    return [
        *(repr(belief), belief.weights.tolist(), belief.fluents, belief.marginals.tolist()),
        *(belief.probability(first), belief.particles[0].fluents, belief.particles[-1].goals),
        belief.particles[0] == belief.particles[0],
    ]


def _or_error(tell: Callable[[], object]) -> object:
    try:
        return tell()
    except GGPError as error:
        return repr(error)


def in_threads(tell: Callable[[int], object], seeds: range) -> list[object]:
    """The answers for each seed, by threads that all begin at once."""
    ready = threading.Barrier(THREADS)

    def work(first: int) -> list[object]:
        ready.wait()
        return [tell(seed) for seed in seeds[first::THREADS]]

    answers: list[object] = [None] * len(seeds)
    with ThreadPoolExecutor(THREADS) as pool:
        for first, answers_of_thread in enumerate(pool.map(work, range(THREADS))):
            answers[first::THREADS] = answers_of_thread
    return answers


def assert_agree(name: str, backend: str, lines: int, turns: int, player: str) -> None:
    seeds = range(lines)
    single, shared = (ggp.load(name, backend=backend) for _ in range(2))
    expected = [told_in_a_line(single, seed, turns, player) for seed in seeds]
    answers = in_threads(lambda seed: told_in_a_line(shared, seed, turns, player), seeds)
    wrong = [seed for seed in seeds if answers[seed] != expected[seed]]
    assert not wrong, f"{len(wrong)} of {lines} lines"


@pytest.mark.parametrize(("name", "backend"), FAST)
def test_threads_get_the_answers_that_one_thread_gets(name: str, backend: str) -> None:
    assert_agree(name, backend, THREADS, 2, "")


def test_players_of_one_game_think_in_threads_of_their_own() -> None:
    assert_agree("kuhn_poker", "prolog", THREADS, 1, "hyperplay:n=2")


@pytest.mark.verify
@pytest.mark.parametrize("player", ["", "hyperplay:n=4", "hyperplay2:n=2"])
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *itertools.product([*RULES, *LARGE], BACKENDS),
        ("openspiel:kuhn_poker", "openspiel"),
    ],
)
def test_threads_get_the_answers_that_one_thread_gets_in_any_game(
    name: str, backend: str, player: str
) -> None:
    game = path_of_shared(name) if "/" in name else name
    if player and name not in SEARCHED.get(backend, (name,)):
        pytest.skip(f"searching it takes {backend} too long")
    is_quick = backend == "propnet" and name not in LARGE
    if player:
        lines, turns = THREADS, 3 if is_quick else 1
    else:
        lines, turns = (8 * THREADS, 6) if is_quick else (2 * THREADS, 3)
    assert_agree(game, backend, lines, turns, player)
