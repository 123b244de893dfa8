"""States of a game of OpenSpiel as immutable nodes, one for each history in use.

A `NodeStore` takes a node and a joint move, and returns the child node; a machine keeps one store.
Playing changes a state of OpenSpiel in place, so the store plays on a copy. Legal moves and
percepts of a node are cached while it lives. Rule: equal keys mean equal nodes. The key is a digest
of the history, or in the games of `POSITIONAL` a digest of the board, so that there transpositions
are one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ggp.errors import IllegalMoveError, MachineError
from ggp.labs.openspiel.machine.games import acts
from ggp.labs.openspiel.machine.terms import NOOP
from ggp.machine.base import FloatArray, IntArray, ShownStates

POSITIONAL = frozenset(
    {"breakthrough", "connect_four", "hex", "nim", "pentago", "tic_tac_toe", "y"}
)
"""Games whose state string determines everything that may still happen."""

Trail = tuple["Trail", tuple[int, ...]] | None
"""A history as nested pairs, the last joint move outermost, so that continuations share it."""

_KEY_BYTES = 16

_NONE = np.zeros(0, dtype=np.int64)
_NOOP_ONLY = np.full(1, NOOP)


class Node:
    """A state, with cached facts about it.

    Attributes:
        state: the `pyspiel.State`; it is never changed.
        key: equal for equal nodes.
        trail: the joint moves that led here.
        player: the player to move, or OpenSpiel's number for chance, all players, or the end.
        digests: cached digests of the knowledge of players, by player.
        percepts: cached percepts of the turn that led here, by role.
    """

    __slots__ = ("__weakref__", "_moves", "digests", "key", "percepts", "player", "state", "trail")

    def __init__(self, state: Any, key: bytes, trail: Trail) -> None:
        self.state, self.key, self.trail = state, key, trail
        self.player: int = state.current_player()
        self._moves: dict[int, IntArray] = {}
        self.digests: dict[int, str] = {}
        self.percepts: dict[int, int] = {}

    @property
    def is_over(self) -> bool:
        return self.player == _Players.TERMINAL

    @property
    def is_chance(self) -> bool:
        return self.player == _Players.CHANCE

    @property
    def is_simultaneous(self) -> bool:
        return self.player == _Players.SIMULTANEOUS

    def acts(self, player: int) -> bool:
        """Whether a player, as opposed to chance, has a choice here."""
        return acts(self.state, player)

    def moves(self, role: int, num_players: int) -> IntArray:
        """The legal moves of a role; none where the game is over.

        Raises:
            MachineError: OpenSpiel fails to list them.
        """
        moves = self._moves.get(role)
        if moves is None:
            try:
                moves = self._moves[role] = self._find_moves(role, num_players)
            except Exception as error:  # a game in Python may raise anything
                raise MachineError(f"OpenSpiel cannot tell the legal moves: {error}") from error
        return moves

    def _find_moves(self, role: int, num_players: int) -> IntArray:
        if self.is_over:
            return _NONE
        if role == num_players:
            if not self.is_chance:
                return _NOOP_ONLY
            actions = [action for action, _ in self.chance]
        else:
            if self.player != role and not self.is_simultaneous:
                return _NOOP_ONLY
            actions = self.state.legal_actions(role)
            if not actions:  # if no other player moves, the game is stuck, which callers report
                return _NOOP_ONLY if self.is_simultaneous else _NONE
        return 1 + np.array(actions, dtype=np.int64)

    @property
    def chance(self) -> list[tuple[int, float]]:
        """The possible actions of chance, with their probabilities."""
        return [(action, share) for action, share in self.state.chance_outcomes() if share > 0]


class _Players:
    """OpenSpiel's player numbers for chance, all players, and the end."""

    CHANCE, SIMULTANEOUS, TERMINAL = -1, -2, -4


class NodeStore:
    """The nodes of one machine; unused nodes are dropped.

    Args:
        game: the `pyspiel.Game`.
        roles: its roles, `random` last if there is chance.
    """

    def __init__(self, game: Any, roles: Sequence[str]) -> None:
        self._roles = tuple(roles)
        self._num_players: int = game.num_players()
        self._packed = Struct(f"{len(self._roles)}q").pack
        self.is_positional = game.get_type().short_name in POSITIONAL
        self._living: WeakValueDictionary[bytes, Node] = WeakValueDictionary()
        self.root = Node(game.new_initial_state(), b"", None)
        self._living[self.root.key] = self.root

    def child(self, node: Node, row: tuple[int, ...]) -> Node:
        """The node to which a joint move leads.

        Raises:
            IllegalMoveError: a move is illegal, or the game is over.
            MachineError: OpenSpiel fails to play it.
        """
        if not self.is_positional:
            key = _digest(node.key + self._packed(*row))
            living = self._living.get(key)
            if living is not None:
                return living
        self._check(node, row)
        state = node.state.clone()
        try:
            self._apply(state, node, row)
        except Exception as error:  # a game in Python may raise anything
            raise MachineError(f"OpenSpiel cannot play {row}: {error}") from error
        if self.is_positional:
            key = _digest(f"{state.current_player()} {state}".encode())
            living = self._living.get(key)
            if living is not None:
                return living
        new = Node(state, key, (node.trail, row))
        self._living[key] = new
        return new

    def along(self, rows: Iterable[tuple[int, ...]], state: Any) -> Node:
        """The node to which joint moves from the start lead, in a game that is not positional.

        Args:
            state: the `pyspiel.State` after them; the caller must not change it any more.
        """
        key, trail = self.root.key, self.root.trail
        for row in rows:
            key, trail = _digest(key + self._packed(*row)), (trail, row)
        node = self._living.get(key)
        if node is None:
            node = self._living[key] = Node(state, key, trail)
        return node

    def _apply(self, state: Any, node: Node, row: tuple[int, ...]) -> None:
        if node.is_simultaneous:
            actions = [move - 1 if move else 0 for move in row[: self._num_players]]
            state.apply_actions_with_legality_checks(actions)
        else:
            mover = self._num_players if node.is_chance else node.player
            # It was found legal, and copies of python_hangman's first state cannot tell.
            state.apply_action(row[mover] - 1)

    def _check(self, node: Node, row: tuple[int, ...]) -> None:
        # An id out of range may crash OpenSpiel, and with it the interpreter.
        for role, (name, move) in enumerate(zip(self._roles, row, strict=True)):
            legal = node.moves(role, self._num_players)
            # Most roles have no choice: a comparison is faster than a search in an array.
            if move != NOOP if legal is _NOOP_ONLY else move not in legal:
                texts = sorted(f"(act {m - 1})" if m else "noop" for m in legal.tolist())
                raise IllegalMoveError(name, f"move number {move}", texts)


class SpielStates(ShownStates):
    """A batch of nodes, `[L]`."""

    __slots__ = ("nodes", "store")

    def __init__(self, store: NodeStore, nodes: Sequence[Node] | np.ndarray[Any, Any]) -> None:
        self.store = store
        if isinstance(nodes, np.ndarray):
            self.nodes = nodes
        else:
            self.nodes = np.empty(len(nodes), dtype=object)
            self.nodes[:] = nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def first_fluents(self) -> list[str]:
        return str(self.nodes[0].state).split("\n")

    def take(self, lanes: IntArray) -> SpielStates:
        return SpielStates(self.store, self.nodes[lanes])


def history_of(node: Node) -> list[tuple[int, ...]]:
    """The joint moves that led to a node, in order."""
    rows = []
    trail = node.trail
    while trail is not None:
        trail, row = trail
        rows.append(row)
    return rows[::-1]


def returns_of(node: Node) -> FloatArray:
    """`[P]` the players' utilities; before the end, the utilities gained so far.

    Raises:
        MachineError: OpenSpiel fails to give them.
    """
    try:
        return np.array(node.state.returns(), dtype=np.float64)
    except Exception as error:  # a game in Python may raise anything
        raise MachineError(f"OpenSpiel cannot tell the utilities: {error}") from error


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_KEY_BYTES).digest()
