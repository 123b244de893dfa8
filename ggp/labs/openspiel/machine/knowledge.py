"""The knowledge of players, as percepts.

OpenSpiel has a string for what a player knows (`information_state_string`), or at least for what it
sees (`observation_string`). A player gets a digest of it as a percept whenever it has changed, and
another percept if it moves next. Where strings tell players that do not act more than they know
(see `strings`), a player gets one only when it moves next. In games of perfect information, all see
the joint move, as in plain GDL.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from ggp.labs.openspiel.machine.games import Strings, acts, is_open, pyspiel
from ggp.labs.openspiel.machine.nodes import Node
from ggp.labs.openspiel.machine.terms import YOUR_MOVE, SpielTerms, told
from ggp.machine.percepts import joint_percepts

_DIGEST_BYTES = 8


def digest_of(words: str) -> str:
    """The digest that stands for the string of what a player knows."""
    return blake2b(words.encode(), digest_size=_DIGEST_BYTES).hexdigest()


class SpielPercepts:
    """The percepts of each role of a game.

    Args:
        game: the `pyspiel.Game`.
        roles: its roles, `random` last if there is chance.
        strings: how far its strings can be trusted.

    Attributes:
        is_open: whether players see joint moves.
        remembers: whether the strings of what players know contain all that they ever knew.
    """

    def __init__(self, game: Any, roles: tuple[str, ...], strings: Strings) -> None:
        kind = game.get_type()
        self.is_open = is_open(game)
        self._only_when_acting = strings.leak
        self.remembers: bool = kind.provides_information_state_string
        self._sees: bool = kind.provides_observation_string
        self._roles, self._num_players = roles, game.num_players()
        self._error = pyspiel().SpielError
        self._joint: dict[tuple[int, ...], int] = {}

    def words(self, node: Node, player: int) -> str:
        """The string of what a player knows; empty where OpenSpiel has none."""
        return self.words_of(node.state, player)

    def words_of(self, state: Any, player: int) -> str:
        """The string of what a player knows in a `pyspiel.State`."""
        if self._only_when_acting and not acts(state, player):
            return ""
        try:
            if self.remembers:
                return str(state.information_state_string(player))
            return str(state.observation_string(player)) if self._sees else ""
        except self._error:
            return ""

    def percepts(
        self, terms: SpielTerms, before: Node, row: tuple[int, ...], after: Node
    ) -> list[int]:
        """`[R]` the percept ids of a joint move."""
        if self.is_open:
            return [self._joint_percept(terms, row)] * len(self._roles)
        return [self._percept(terms, before, after, role) for role in range(len(self._roles))]

    def remember(self, terms: SpielTerms, after: Node, percepts: list[int]) -> None:
        """Keep the words of the percepts of the turn before a node: see `InformationState`."""
        for player in range(0 if self.is_open else self._num_players):
            terms.remember(percepts[player], self.words(after, player))

    def percept(
        self, terms: SpielTerms, before: Node, row: tuple[int, ...], after: Node, role: int
    ) -> int:
        """The percept id of a single role after a joint move."""
        if self.is_open:
            return self._joint_percept(terms, row)
        return self._percept(terms, before, after, role)

    def _percept(self, terms: SpielTerms, before: Node, after: Node, role: int) -> int:
        # A node has one history, so the percepts of its last turn are remembered with it.
        found = after.percepts.get(role)
        if found is None:
            texts: tuple[str, ...] = ()
            if role < self._num_players:
                new, acting = self.digest(after, role), after.acts(role)
                if acting if self._only_when_acting else new != self.digest(before, role):
                    texts = (told(new),)
                if acting:
                    texts = (*texts, YOUR_MOVE)
            found = after.percepts[role] = terms.number_of(texts)
        return found

    def digest(self, node: Node, player: int) -> str:
        """The digest of the string of what a player knows."""
        found = node.digests.get(player)
        if found is None:
            found = node.digests[player] = digest_of(self.words(node, player))
        return found

    def _joint_percept(self, terms: SpielTerms, row: tuple[int, ...]) -> int:
        if row not in self._joint:
            texts = joint_percepts(self._roles, list(map(terms.move_text, row)))
            self._joint[row] = terms.number_of(texts)
        return self._joint[row]
