"""The machine of a game of OpenSpiel.

`SpielMachine` takes a `SpielGame`, and implements `Machine`: states and joint moves go in,
successors, percepts and goals come out. One node of OpenSpiel's tree is one turn: the acting role
has its actions as moves, and all others play `noop`. Chance is the role `random`, with the
probabilities of its node. Goals are utilities scaled to 0 to 100.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np

from ggp.errors import MachineError, NoLegalMoveError
from ggp.gdl.analysis.told_moves import PLAIN
from ggp.gdl.program import MAX_GOAL, MIN_GOAL, RANDOM
from ggp.labs.openspiel.machine.games import SpielGame, load_game, pyspiel
from ggp.labs.openspiel.machine.known_path import KnownPath, PathTurn, SpielPercepts
from ggp.labs.openspiel.machine.nodes import Node, NodeStore, SpielStates, history_of, returns_of
from ggp.labs.openspiel.machine.redraw import MIN_DEALT, HistoryRedraws
from ggp.labs.openspiel.machine.terms import NOOP, YOUR_MOVE, SpielTerms
from ggp.machine.abilities import Redraws
from ggp.machine.arrays import ragged
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    UNKNOWN,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Playouts,
    Ragged,
    States,
    Stepped,
)
from ggp.machine.percepts import RevealedMoves
from ggp.run.clocks import TellsTime

_log = logging.getLogger(__name__)

_SPAN = MAX_GOAL - MIN_GOAL


class SpielMachine:
    """`Machine` on OpenSpiel; several threads may use it together (see `ggp.machine.threads`).

    Args:
        program: from `spiel_game`.
        threads: processors that a search may use.

    Attributes:
        growing: lock for growing tables.
    """

    backend = "openspiel"
    goal_range = (MIN_GOAL, MAX_GOAL)

    def __init__(self, program: SpielGame, *, threads: int = 1) -> None:
        game = load_game(program.source.text)
        self.roles = program.roles
        self.random_role = program.roles.index(RANDOM) if RANDOM in program.roles else None
        self.utility_range = program.utilities
        self.states_visited = 0
        self.threads = threads
        self._num_players: int = game.num_players()
        self._store = NodeStore(game, self.roles)
        self._knowledge = SpielPercepts(game, self.roles, program.strings)
        num_actions = max(game.num_distinct_actions(), game.max_chance_outcomes())
        is_open = self._knowledge.is_open
        self.growing = RLock()
        self._terms = SpielTerms(self.roles, num_actions, is_open=is_open, growing=self.growing)
        self._joint_moves = RevealedMoves(PLAIN if is_open else None, self.growing)
        self._matches = RandomMatches(game)
        kind, dynamics = game.get_type(), pyspiel().GameType.Dynamics
        self.redraws_histories = (
            not self._knowledge.is_open
            and not program.strings.leak  # mending compares the words of every turn
            and kind.dynamics == dynamics.SEQUENTIAL
            and program.strings.chance_turns >= MIN_DEALT
        )
        self._is_warned = False

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> SpielStates:
        return SpielStates(self._store, [self._store.root] * num_lanes)

    def concatenate(self, batches: Sequence[States]) -> SpielStates:
        nodes = [self._nodes(batch) for batch in batches]
        return SpielStates(self._store, np.concatenate(nodes) if nodes else [])

    def groups(self, states: States) -> IntArray:
        seen: dict[bytes, int] = {}
        groups = [seen.setdefault(node.key, len(seen)) for node in self._nodes(states)]
        return np.array(groups, dtype=np.int64)

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        return np.array([node.is_over for node in self._nodes(states)], dtype=np.bool_)

    def goals(self, states: States) -> FloatArray:
        goals = np.zeros((len(states), len(self.roles)))
        for lane, node in enumerate(self._nodes(states)):
            if node.is_over:
                goals[lane, : self._num_players] = self._final_goals(returns_of(node))
            else:  # utilities so far may be lower than in any complete match
                partial = self._goals_of(returns_of(node)).clip(*self.goal_range)
                goals[lane, : self._num_players] = partial
        return goals

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        lists = []
        for node in self._nodes(states):
            moves = node.moves(role, self._num_players)
            if not len(moves) and not node.is_over and not allow_stuck:
                raise NoLegalMoveError(self.roles[role], self._fluents_of(node))
            lists.append(moves)
        return ragged(lists)

    def chance(self, states: States) -> Chance:
        if self.random_role is None:
            none = np.zeros(0, dtype=np.int64)
            return Chance(np.zeros(len(states) + 1, dtype=np.int64), none, np.zeros(0))
        offsets, moves = self.legal(states, self.random_role, allow_stuck=True)
        shares: list[FloatArray] = []
        for node in self._nodes(states):
            if node.is_chance:
                weights = np.array([share for _, share in node.chance])
                shares.append(weights / weights.sum())
            elif not node.is_over:
                shares.append(np.ones(1))
        return Chance(offsets, moves, np.concatenate(shares) if shares else np.zeros(0))

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        nodes = self._nodes(states)
        self.states_visited += len(nodes)
        stepped: dict[tuple[int, tuple[int, ...]], tuple[Node, list[int]]] = {}
        children = np.empty(len(nodes), dtype=object)
        percepts = np.zeros((len(nodes), len(self.roles)), dtype=np.int64)
        for lane, (node, moves) in enumerate(zip(nodes, joint_moves.tolist(), strict=True)):
            row = tuple(moves)
            pair = stepped.get((id(node), row))
            if pair is None:
                child = self._store.child(node, row)
                pair = (child, self._knowledge.percepts(self._terms, node, row, child))
                stepped[(id(node), row)] = pair
            children[lane], percepts[lane] = pair
        if len(nodes) == 1:  # a match steps one state; searches step many
            self._knowledge.remember(self._terms, children[0], percepts[0].tolist())
        return Stepped(SpielStates(self._store, children), percepts)

    def step_matching(
        self, states: States, lanes: IntArray, joint_moves: IntArray, role: int, percepts: IntArray
    ) -> tuple[IntArray, States] | None:
        """See `Matcher`: percepts of the other roles are not computed."""
        nodes = self._nodes(states)
        self.states_visited += len(lanes)
        targets = percepts.tolist()
        matching: list[int] = []
        children: list[Node] = []
        for index, (lane, moves) in enumerate(
            zip(lanes.tolist(), joint_moves.tolist(), strict=True)
        ):
            row = tuple(moves)
            child = self._store.child(nodes[lane], row)
            if targets[lane] not in (
                UNKNOWN,
                self._knowledge.percept(self._terms, nodes[lane], row, child, role),
            ):
                continue
            matching.append(index)
            children.append(child)
        return np.array(matching, dtype=np.int64), SpielStates(self._store, children)

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        nodes = self._nodes(states)
        utilities, steps, finished = self._matches.play(nodes, rng, max_steps, max_seconds, clock)
        goals = np.zeros((len(nodes), len(self.roles)))
        goals[finished, : self._num_players] = self._final_goals(utilities[finished])
        self.states_visited += int(steps.sum())
        return Playouts(goals, steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        return self._terms.move_id(move)

    def move_text(self, move: int) -> str:
        return self._terms.move_text(move)

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        return self._terms.percept_id(percepts)

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return self._terms.percept_texts(percept)

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return self._joint_moves.of(self, percepts)

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        return [self._fluents_of(node) for node in self._nodes(states)]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`: the ids of the joint moves that led to each state."""
        return [
            tuple(" ".join(map(str, row)) for row in history_of(node))
            for node in self._nodes(states)
        ]

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> SpielStates:
        """See `StateWriter`."""
        nodes = []
        for rows in texts:
            node = self._store.root
            for row in rows:
                node = self._store.child(node, tuple(map(int, row.split())))
            nodes.append(node)
        return SpielStates(self._store, nodes)

    def close(self) -> None:
        """Do nothing: the machine holds only memory."""

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1

    # ---------------------------------------------------------------- histories

    def redraws(self, role: int, turns: IntArray, rng: np.random.Generator) -> Redraws:
        """See `Redrawer`."""
        path_turns = self._path_turns(role, turns)
        path = KnownPath(self._store.root.state, self._knowledge, role, path_turns)
        return HistoryRedraws(self._store, path, len(self.roles), rng, self._count)

    # ---------------------------------------------------------------- words

    def move_words(self, states: States, role: int, move: int) -> str:
        """See `Wordy`."""
        (node,) = self._nodes(states)
        if move == NOOP:
            return ""
        player = node.player if role == self.random_role else role
        return str(node.state.action_to_string(player, move - 1))

    def state_words(self, states: States) -> str:
        """See `Wordy`."""
        (node,) = self._nodes(states)
        return str(node.state)

    def knowledge_words(self, states: States, role: int) -> str:
        """See `Wordy`."""
        (node,) = self._nodes(states)
        return "" if role == self.random_role else self._knowledge.words_of(node.state, role)

    # ---------------------------------------------------------------- private

    def _count(self, visited: int) -> None:
        self.states_visited += visited

    def _path_turns(self, role: int, turns: IntArray) -> list[PathTurn]:
        path_turns = []
        digest: str | None = self._knowledge.digest(self._store.root, role)
        words: str | None = self._knowledge.words_of(self._store.root.state, role)
        for move, percept, refused in turns.tolist():
            acts = None
            if percept == UNKNOWN:
                digest, words = None, None
            else:
                acts = YOUR_MOVE in self._terms.percept_texts(percept)
                news = self._terms.digest_and_words(percept)
                digest, words = (digest, words) if news[0] is None else news
            path_turns.append(PathTurn(move, refused, acts, digest, words))
        return path_turns

    def _nodes(self, states: States) -> np.ndarray[Any, Any]:
        if not isinstance(states, SpielStates) or states.store is not self._store:
            raise MachineError("these states belong to another machine")
        return states.nodes

    def _goals_of(self, utilities: FloatArray) -> FloatArray:
        low, high = self.utility_range
        return MIN_GOAL + _SPAN * (utilities - low) / ((high - low) or 1.0)

    def _final_goals(self, utilities: FloatArray) -> FloatArray:
        """Goal values of ended matches."""
        low, high = self.utility_range
        outside = utilities[(utilities < low) | (utilities > high)]
        if len(outside) and not self._is_warned:
            self._is_warned = True
            _log.warning(
                "a utility of %g is outside the range that OpenSpiel gives, %g to %g: it is kept",
                outside[0],
                low,
                high,
            )
        return self._goals_of(utilities)

    def _fluents_of(self, node: Node) -> tuple[str, ...]:
        """`(done TURN ROLE MOVE)` for all moves so far, or the digest of a position."""
        if self._store.is_positional:
            return (f"(position x{node.key.hex()})",)
        return tuple(
            sorted(
                f"(done {turn} {name} {self._terms.move_text(move)})"
                for turn, row in enumerate(history_of(node), start=1)
                for name, move in zip(self.roles, row, strict=True)
                if move != NOOP
            )
        )


# ------------------------------------------------------------------------
# Random matches of OpenSpiel's games; whole matches run in C++.

_MAX_SEED = 1 << 30


class RandomMatches:
    """Plays random matches of a game from given states.

    Args:
        game: the `pyspiel.Game`.
    """

    def __init__(self, game: Any) -> None:
        self._library = pyspiel()
        self._num_players: int = game.num_players()
        kind = game.get_type()
        self._is_sequential = kind.dynamics == self._library.GameType.Dynamics.SEQUENTIAL
        self._error = self._library.SpielError

    def play(
        self,
        nodes: np.ndarray[Any, Any],
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime = time.monotonic,
    ) -> tuple[FloatArray, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """`[L, P]` utilities, `[L]` steps, `[L]` whether they ended; see `Machine.playout`."""
        until_s = None if max_seconds is None else clock() + max_seconds
        utilities = np.zeros((len(nodes), self._num_players))
        steps = np.zeros(len(nodes), dtype=np.int64)
        finished = np.zeros(len(nodes), dtype=np.bool_)
        # New bots with new seeds for each match would cost more than most matches.
        bots = [
            self._library.make_uniform_random_bot(player, int(rng.integers(_MAX_SEED)))
            for player in range(self._num_players)
        ]
        seeds = rng.integers(_MAX_SEED, size=len(nodes)).tolist()
        for lane, node in enumerate(nodes):
            if node.is_over:
                utilities[lane], finished[lane] = returns_of(node), True
                continue
            if until_s is not None and clock() > until_s:
                break
            state = node.state.clone()
            if max_steps < DEFAULT_MAX_STEPS:
                self._walk(state, rng, max_steps)
            else:
                try:
                    self._library.evaluate_bots(state, bots, seeds[lane])
                except self._error:
                    continue
            num_turns = self._num_turns(state) - self._num_turns(node.state)
            steps[lane] = min(num_turns, max_steps)
            if state.is_terminal() and num_turns <= max_steps:
                utilities[lane], finished[lane] = state.returns(), True
        return utilities, steps, finished

    def _num_turns(self, state: Any) -> int:
        """Number of joint moves so far; one choice of every player in turn counts as one."""
        # OpenSpiel's own count omits chance in some games.
        if self._is_sequential:
            return len(state.history())
        players = [choice.player for choice in state.full_history()]
        everybody = list(range(self._num_players))
        at = turns = 0
        while at < len(players):
            together = players[at : at + self._num_players] == everybody
            at += self._num_players if together else 1
            turns += 1
        return turns

    def _walk(self, state: Any, rng: np.random.Generator, max_steps: int) -> None:
        """Play random moves, at most `max_steps`."""
        for _ in range(max_steps):
            if state.is_terminal():
                return
            if state.is_chance_node():
                actions, shares = zip(*state.chance_outcomes(), strict=True)
                weights = np.array(shares)
                state.apply_action(actions[rng.choice(len(actions), p=weights / weights.sum())])
            elif state.is_simultaneous_node():
                state.apply_actions(
                    [
                        int(rng.choice(state.legal_actions(player) or [0]))
                        for player in range(self._num_players)
                    ]
                )
            else:
                state.apply_action(int(rng.choice(state.legal_actions())))
