"""Search on a policy: values agree with exact enumeration, and probabilities step towards them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ggp.belief.move_models import TREMBLE
from ggp.errors import ConfigError
from ggp.labs.learning.env import make
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.learned import Learned, LearntMoves, stepped
from ggp.labs.learning.selfplay import Learner, Settings
from ggp.labs.learning.selfplay.files import PolicyFile, write_policy
from ggp.machine import Machine
from ggp.machine.arrays import rows_of_bits, words_for
from ggp.machine.base import States
from ggp.machine.games import load_program
from ggp.players import make_player, parse_spec
from ggp.players.parts.search_player import SearchPlayer
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game

QUICK = Settings(turns=8, block=32, hidden=(16,), critic=(8,), rate=2e-2)

Turns = tuple[tuple[str, tuple[str, ...]], ...]
"""The path of a role: its move and percepts of each turn."""


@cache
def learnt(game: str) -> PolicyFile:
    learner = Learner(make(game, 64, paths=False), settings=QUICK, seed=2)
    learner.learn(updates=6)
    return learner.snapshot(game, "0")


def player(game: str, path: Path, options: str, role: int, seed: int = 1) -> Learned:
    write_policy(path, learnt(game))
    learned = make_player(
        parse_spec(f"learned:policy={path},{options}"),
        machine_of_game(game, "propnet"),
        role,
        np.random.default_rng(seed),
        program=load_program(game),
    )
    assert isinstance(learned, Learned)
    return learned


class Enumerated:
    """Values of a role's moves by all continuations of all histories, one state at a time."""

    def __init__(self, game: str, role: int, path: Turns) -> None:
        self._env: Environment = make(game, 1)
        self._machine: Machine = self._env.machine
        self._policies = learnt(game).policies()
        self._role, self._known = role, path
        self.reach = 0.0
        self.values: dict[str, float] = {}
        none: tuple[Turns, ...] = ((),) * len(self._machine.roles)
        self._walk(self._machine.initial(1), none, 1.0)

    def _walk(self, state: States, paths: tuple[Turns, ...], reach: float) -> None:
        machine = self._machine
        if machine.terminal(state)[0]:
            return
        if paths[self._role] == self._known:
            self.reach += reach
            for move in self._moves(state, self._role):
                value = self._value(state, paths, move)
                self.values[move] = self.values.get(move, 0.0) + reach * value
            return
        if paths[self._role] != self._known[: len(paths[self._role])]:
            return
        for joint, share in self._joint_moves(state, paths, tremble=TREMBLE):
            own_move = self._known[len(paths[self._role])][0]
            if joint[self._role] == own_move:
                successor, paths_after = self._successor(state, paths, joint)
                self._walk(successor, paths_after, reach * share)

    def _value(self, state: States, paths: tuple[Turns, ...], own_move: str | None) -> float:
        machine = self._machine
        if machine.terminal(state)[0]:
            return float(machine.goals(state)[0, self._role])
        total = 0.0
        for joint, share in self._joint_moves(state, paths, own_move):
            total += share * self._value(*self._successor(state, paths, joint), None)
        return total

    def _joint_moves(
        self,
        state: States,
        paths: tuple[Turns, ...],
        own_move: str | None = None,
        tremble: float = 0.0,
    ) -> list[tuple[list[str], float]]:
        """All joint moves with probabilities; the own move is given, or free where others' are
        weighed."""
        joint_shares: list[tuple[list[str], float]] = [([], 1.0)]
        for role, name in enumerate(self._machine.roles):
            moves = self._moves(state, role)
            even = np.full(len(moves), 1 / len(moves))
            shares = even
            if role == self._role and (own_move is not None or tremble):
                shares = np.array([1.0 if tremble or move == own_move else 0.0 for move in moves])
            elif role != self._machine.random_role and len(moves) > 1:
                shares = self._shares(name, paths[role], moves)
                shares = (1 - tremble) * shares + tremble * even
            joint_shares = [
                ([*joint, move], share * probability)
                for joint, share in joint_shares
                for move, probability in zip(moves, shares.tolist(), strict=True)
                if probability
            ]
        return joint_shares

    def _shares(self, role: str, path: Turns, moves: list[str]) -> np.ndarray:
        names = self._env.names
        places = np.array([names.move(move) for move in moves])
        masks = rows_of_bits(np.zeros(len(places), int), places, 1, words_for(len(names.moves)))
        paths = np.zeros((1, *self._env.path_shape[2:]), dtype=np.int32)
        for turn, (move, percepts) in enumerate(path):
            tokens = [names.move(move), *(len(names.moves) + names.percept(p) for p in percepts)]
            paths[0, turn, : len(tokens)] = 1 + np.array(tokens)
        shares = self._policies[role].at_paths(masks, paths, np.array([len(path)], np.int32))
        return np.asarray(shares[0, places], dtype=np.float64)

    def _moves(self, state: States, role: int) -> list[str]:
        moves = self._machine.legal(state, role).values.tolist()
        return [self._machine.move_text(move) for move in moves]

    def _successor(
        self, state: States, paths: tuple[Turns, ...], joint: list[str]
    ) -> tuple[States, tuple[Turns, ...]]:
        machine = self._machine
        ids = np.array([[machine.move_id(move) for move in joint]])
        stepped = machine.step(state, ids)
        percepts = [machine.percept_texts(int(percept)) for percept in stepped.percepts[0]]
        paths_after = tuple(
            (*turns, (move, tuple(seen)))
            for turns, move, seen in zip(paths, joint, percepts, strict=True)
        )
        return stepped.states, paths_after


@pytest.mark.parametrize("seed", [1, 2])
def test_values_are_those_of_all_continuations(seed: int, tmp_path: Path) -> None:
    """A match of kuhn_poker; each decision is compared."""
    game, compared = "kuhn_poker", 0
    env = make(game, 1, paths=False)
    roles = [env.machine.roles.index(role) for role in env.roles]
    spec = "search=1,trials=3000"
    players = [player(game, tmp_path / "p.npz", spec, role, seed) for role in roles]
    starts: list[Turns] = [(), ()]
    turn = env.reset(seed)
    while not turn.ended[0]:
        actions = np.full((1, 2), -1)
        for number, role in enumerate(roles):
            decision = players[number].choose()
            assert decision.fault is None
            actions[0, number] = env.names.move(decision.move)
            if len(decision.values) > 1:
                exact = Enumerated(game, role, starts[number])
                for value in decision.values:
                    assert value.value is not None
                    assert value.stderr is not None
                    expected = exact.values[value.move] / exact.reach
                    assert value.value == pytest.approx(expected, abs=4 * value.stderr + 1e-6)
                compared += 1
        turn = env.step(actions)
        for number in range(2):
            seen = np.flatnonzero(turn.observations[0, number, len(env.names.moves) :])
            percepts = [env.names.percepts[k] for k in seen.tolist()]
            move = env.names.moves[actions[0, number]]
            players[number].observe(move, percepts)
            starts[number] = (*starts[number], (move, tuple(percepts)))
    assert compared >= 2


def test_a_step_makes_better_moves_likelier_in_proportion() -> None:
    policy = np.array([0.5, 0.25, 0.25])
    shares = stepped(policy, np.array([50.0, 60.0, 50.0]), 10.0)
    assert shares.sum() == pytest.approx(1)
    assert shares[1] / shares[0] == pytest.approx(np.e / 2)
    assert shares[2] / shares[0] == pytest.approx(1 / 2)
    np.testing.assert_allclose(stepped(policy, np.full(3, 7.0), 0.1), policy)


@pytest.mark.verify
@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "connect_four", "number_guessing"])
def test_the_same_seed_decides_the_same_and_a_clock_is_kept(game: str, tmp_path: Path) -> None:
    names = machine_of_game(game, "propnet").roles
    role = names.index(learnt(game).about.roles[0])

    def decided(seed: int, deadline: Deadline | None = None) -> dict[str, float]:
        learned = player(game, tmp_path / "p.npz", "search=2,trials=16", role, seed)
        decision = learned.choose(deadline)
        assert decision.fault is None
        return dict(decision.probabilities or {})

    first = decided(1)
    assert decided(1) == first
    assert len(first) < 2 or decided(2) != first
    deadline = Deadline.after(2.0)
    decided(1, deadline)
    assert deadline.left_s() > -0.2


@pytest.mark.verify
@pytest.mark.parametrize("name", ["hyperplay2:n=2", "ismcts:trials=200", "pimc"])
def test_policies_are_models_of_the_others(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    write_policy(path, learnt("kuhn_poker"))
    machine, program = machine_of_game("kuhn_poker", "propnet"), load_program("kuhn_poker")
    joiner = "," if ":" in name else ":"
    spec = parse_spec(f"{name}{joiner}model=policy:{path}")
    search_player = make_player(spec, machine, 0, np.random.default_rng(1), program=program)
    assert isinstance(search_player, SearchPlayer)
    assert isinstance(search_player.model, LearntMoves)
    assert search_player.choose().fault is None
    with pytest.raises(ConfigError, match="needs the rules"):
        make_player(spec, machine, 0, np.random.default_rng(1))


def test_models_of_other_games_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    write_policy(path, learnt("kuhn_poker"))
    with pytest.raises(ConfigError, match="other rules"):
        make_player(
            parse_spec(f"hyperplay2:model=policy:{path}"),
            machine_of_game("krieg_tic_tac_toe", "propnet"),
            0,
            np.random.default_rng(1),
            program=load_program("krieg_tic_tac_toe"),
        )
