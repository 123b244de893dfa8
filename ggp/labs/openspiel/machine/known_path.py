"""Compares histories with a role's knowledge: how long they agree, and how nearly beyond.

A role's percepts are digests, which are equal or not. Where the words that one stands for came with
it, the words of another history can be more or less similar to them:

    it was told     Hand: S KT2  H 4        of these, K, T and 2 of S and 4 of H
    this tells      Hand: S KT   H 42       all but one, and one that is not among them

A history that was changed is played through from the start, on one state that changes. Where words
contain everything that a role has ever known, those at the end are enough to see whether it agrees.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ggp.labs.openspiel.machine.games import Strings, acts, is_open, pyspiel
from ggp.labs.openspiel.machine.nodes import Node
from ggp.labs.openspiel.machine.terms import NOOP, YOUR_MOVE, SpielTerms, told
from ggp.machine.base import UNKNOWN
from ggp.machine.percepts import joint_percepts

_LINE, _WORD = re.compile(r"[\n|]+"), re.compile(r"[^\s:=]+")


class PathTurn(NamedTuple):
    """A role's knowledge of a turn.

    Attributes:
        move: its own move, `UNKNOWN` if it was not told.
        refused: see `PathTree.extend`.
        acts: whether it moves next; None if it was not told.
        digest: digest of its knowledge afterwards; None if it was not told.
        words: the same in full, if they came with the digest.
    """

    move: int
    refused: int
    acts: bool | None
    digest: str | None
    words: str | None


@dataclass(frozen=True, slots=True)
class History:
    """The first turns of a history, as far as they agree with what a role knows.

    Attributes:
        actions: the action of each turn.
        players: the player of each turn; chance is negative.
        names: the name of each action: a number may stand for different things in different turns.
        after: the `pyspiel.State` that it leads to, which is never changed.
        likeness: similarity of the words the role could get next to those it got; the higher the
            more.
        told: the most similar words.
    """

    actions: list[int]
    players: list[int]
    names: list[str]
    after: Any
    likeness: float = 0.0
    told: str = ""

    def __len__(self) -> int:
        return len(self.actions)

    def act(self, at: int) -> tuple[int, str]:
        """Number and name of the action of a turn."""
        return self.actions[at], self.names[at]

    def is_no_worse(self, other: History) -> bool:
        """Whether it agrees for longer than another history, or as long and as nearly beyond."""
        return (len(self), self.likeness) >= (len(other), other.likeness)


class KnownPath:
    """The incomplete path of a role.

    Args:
        root: the `pyspiel.State` that matches begin in.
        knowledge: makes the percepts of the game.
        role: the role whose path it is; a player, not chance.
        turns: the turns, one after the other.

    Attributes:
        visited: number of states visited.
    """

    def __init__(
        self, root: Any, knowledge: SpielPercepts, role: int, turns: Sequence[PathTurn]
    ) -> None:
        self.root, self.role = root, role
        self.visited = 0
        self._knowledge, self._turns = knowledge, turns
        self._is_over = int(pyspiel().PlayerId.TERMINAL)

    def __len__(self) -> int:
        return len(self._turns)

    def news(self, at: int) -> set[str]:
        """The words that the role got in a turn and had not got in the turn before."""
        before, after = (self._turns[turn].words or "" for turn in (max(at - 1, 0), at))
        return set(_WORD.findall(after)) - set(_WORD.findall(before))

    def begun(self, actions: Sequence[int]) -> History:
        """The history of the first of these actions, as long as they agree."""
        state, found = self.root.clone(), History([], [], [], None)
        for at, action in enumerate(actions[: len(self)]):
            player, name = state.current_player(), name_of(state, action)
            before = self._before(state, at)
            if not self._plays(state, at, action) or not self._is_told(state, at, before):
                state = self.after(found.actions)
                break
            found.actions.append(action)
            found.players.append(player)
            found.names.append(name)
        return replace(found, after=state)

    def replayed(self, old: History, actions: list[int]) -> History | None:
        """The history of other actions than those of an old one, if all of them agree.

        In turns where only the history says what the role knew before, this is not checked.
        """
        pairs = enumerate(zip(old.actions, actions, strict=True))
        changed = {at for at, (before, after) in pairs if before != after}
        if not changed:
            return old
        state, players, names = self.root.clone(), list(old.players), list(old.names)
        first, looks = min(changed), None
        if self._knowledge.remembers:
            looks = changed | {len(actions) - 1}
        for action in actions[:first]:
            state.apply_action(action)
        self.visited += first
        for at, action in enumerate(actions[first:], start=first):
            players[at] = state.current_player()
            if at in changed:
                if action not in state.legal_actions():
                    return None
                names[at] = name_of(state, action)
            if not self._plays(state, at, action) or (
                (looks is None or at in looks) and not self._is_told(state, at)
            ):
                return None
        return History(actions, players, names, state)

    def extended(self, history: History, rng: np.random.Generator) -> History:
        """The history extended by one possible action after the other, as long as some agree."""
        actions, players = list(history.actions), list(history.players)
        names, state = list(history.names), history.after
        for at in range(len(actions), len(self)):
            player, possible = state.current_player(), state.legal_actions()
            if player == self.role and self._turns[at].move != UNKNOWN:
                possible = [self._turns[at].move - 1]
            others, before = [], self._before(state, at)
            for place in rng.permutation(len(possible)).tolist():
                after = state.clone()
                if not self._plays(after, at, possible[place]):
                    continue
                if self._is_told(after, at, before):
                    break
                others.append(after)
            else:
                return History(actions, players, names, state, *self._likest(others, at))
            names.append(name_of(state, possible[place]))
            actions.append(possible[place])
            players.append(player)
            state = after
        return History(actions, players, names, state)

    def log_priors(self, actions: list[int], first: int = 0) -> list[float]:
        """Logs of the probabilities of actions, from turn `first` on, if the players other than the
        role move uniformly at random."""
        found = []
        state = self.after(actions[:first])
        for at in range(first, len(actions)):
            action, player, turn = actions[at], state.current_player(), self._turns[at]
            if player < 0:
                share = sum(share for other, share in state.chance_outcomes() if other == action)
                found.append(math.log(share) if share > 0 else -math.inf)
            # Moves that we chose are certain; one drawn for us is as likely as our other moves.
            elif player == self.role and turn.move != UNKNOWN == turn.refused:
                found.append(0.0)
            else:
                found.append(-math.log(len(state.legal_actions())))
            state.apply_action(action)
        return found

    def after(self, actions: Sequence[int]) -> Any:
        """The `pyspiel.State` after possible actions."""
        state = self.root.clone()
        for action in actions:
            state.apply_action(action)
        return state

    def _plays(self, state: Any, at: int, action: int) -> bool:
        """Play an action if it may have been played in that turn; this changes the state."""
        turn, legal = self._turns[at], state.legal_actions()
        if action not in legal:
            return False
        if state.current_player() == self.role:
            if turn.move not in (UNKNOWN, action + 1) or turn.refused - 1 in legal:
                return False
        elif turn.move not in (NOOP, UNKNOWN):
            return False
        self.visited += 1
        state.apply_action(action)
        player = state.current_player()
        return player != self._is_over and (turn.acts is None or (player == self.role) == turn.acts)

    def _before(self, state: Any, at: int) -> str | None:
        """The role's knowledge before a turn in which it is told nothing new, if only the history
        says what that is."""
        turn = self._turns[at]
        if turn.digest is not None or turn.acts is None:
            return None
        return self._knowledge.words_of(state, self.role)

    def _is_told(self, state: Any, at: int, before: str | None = None) -> bool:
        """Whether the role is told in this state, after a turn, what it was told in the match."""
        turn = self._turns[at]
        if turn.digest is None:
            return before is None or before == self._knowledge.words_of(state, self.role)
        words = self._knowledge.words_of(state, self.role)
        return digest_of(words) == turn.digest if turn.words is None else words == turn.words

    def _likest(self, states: list[Any], at: int) -> tuple[float, str]:
        """The words for the role after a turn, in whichever of some states they are most similar to
        the words it got: their similarity, and the words."""
        told = self._turns[at].words
        if not states or told is None:
            return (0.0 if states else -math.inf), ""
        words = [self._knowledge.words_of(state, self.role) for state in states]
        return max((-_difference(each, told), each) for each in words)

    def learnt(self, old: History, new: History) -> tuple[bool, bool] | None:
        """Whether the words added and the words dropped between two histories are part of what the
        role was told; None if the words are the same.

        Args:
            old, new: histories of the same length.
        """
        told = self._turns[len(old)].words
        if told is None or old.told == new.told:
            return None
        gained, lost = [], []
        for before, after, wanted in zip_longest(
            *map(_LINE.split, (old.told, new.told, told)), fillvalue=""
        ):
            if before != after:
                were, are, should = map(_letters, (before, after, wanted))
                gained.append(are - were <= should - were)
                lost.append(were - are <= should - are)
        return all(gained), all(lost)


def name_of(state: Any, action: int) -> str:
    """The name of an action of the player to move in a `pyspiel.State`."""
    return str(state.action_to_string(state.current_player(), action))


def _difference(left: str, right: str) -> int:
    """Number of parts that one of two texts for a role has and the other has not, line by line."""
    lines = zip_longest(_LINE.split(left), _LINE.split(right), fillvalue="")
    return sum(_line_difference(*pair) for pair in lines if pair[0] != pair[1])


@lru_cache(100_000)
def _line_difference(left: str, right: str) -> int:
    """The difference of two lines: in their words, and in the characters of these."""
    ours, others = _parts(left), _parts(right)
    return (ours - others).total() + (others - ours).total()


def _parts(line: str) -> Counter[str]:
    return Counter(_WORD.findall(line)) + _letters(line)


def _letters(line: str) -> Counter[str]:
    return Counter("".join(_WORD.findall(line)))


# ------------------------------------------------------------------------
# The knowledge of players, as percepts.
#
# OpenSpiel has a string for what a player knows (`information_state_string`), or at least for what
# it sees (`observation_string`). A player gets a digest of it as a percept whenever it has changed,
# and another percept if it moves next. Where strings tell players that do not act more than they
# know (see `strings`), a player gets one only when it moves next. In games of perfect information,
# all see the joint move, as in plain GDL.

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
