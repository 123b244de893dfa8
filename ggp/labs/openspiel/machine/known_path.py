"""Compares histories with a role's knowledge: how long they agree, and how similar they are then.

`KnownPath` holds a role's incomplete path. It takes the actions of a history, and returns the
`History` of the turns that agree with the path. A role's percepts are digests, which are equal or
not. Where a digest comes with its words, the words of another history can be more or less similar:

    words of the path       Hand: S KT2  H 4
    words of a history      Hand: S KT   H 42       3 of these 4 cards, and a card that is not there

A changed history is played from the start, on one state that is changed in place. Where words
contain everything that a role ever knew, the words at the end suffice to see whether it agrees.
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

from ggp.labs.openspiel.machine.games import Strings, acts, is_open, knowledge_of, pyspiel
from ggp.labs.openspiel.machine.nodes import Node
from ggp.labs.openspiel.machine.terms import NOOP, YOUR_MOVE, SpielTerms, told_percept
from ggp.machine.base import UNKNOWN
from ggp.machine.percepts import joint_percepts

_LINE, _WORD = re.compile(r"[\n|]+"), re.compile(r"[^\s:=]+")


class PathTurn(NamedTuple):
    """A role's knowledge of a turn.

    Attributes:
        move: the role's move, or `UNKNOWN`.
        refused: see `PathTree.extend`.
        acts: whether it moves next; None if that is unknown.
        digest: digest of its knowledge afterwards; None if that is unknown.
        words: the words of the digest, if they came with it.
    """

    move: int
    refused: int
    acts: bool | None
    digest: str | None
    words: str | None

    def allows(self, action: int, legal: Sequence[int]) -> bool:
        """Whether the role may have played an action where these are legal."""
        if self.move == UNKNOWN and self.refused - 1 in legal:
            return action == self.refused - 1
        return self.move in (UNKNOWN, action + 1) and self.refused - 1 not in legal

    def is_chosen(self, action: int) -> bool:
        """Whether the role chose an action that it played: otherwise it was drawn for it."""
        return self.refused == (action + 1 if self.move == UNKNOWN else UNKNOWN)


@dataclass(frozen=True, slots=True)
class History:
    """The first turns of a history, up to the last that agrees with a role's knowledge.

    Attributes:
        actions: the action of each turn.
        players: the player of each turn; chance is negative.
        names: the name of each action: a number may mean different actions in different turns.
        state: the `pyspiel.State` at its end, which is never changed.
        likeness: similarity between the words that could come next and the words of the path;
            higher is more similar.
        next_words: the most similar words that could come next.
    """

    actions: list[int]
    players: list[int]
    names: list[str]
    state: Any
    likeness: float = 0.0
    next_words: str = ""

    def __len__(self) -> int:
        return len(self.actions)

    def act(self, at: int) -> tuple[int, str]:
        """Number and name of the action of a turn."""
        return self.actions[at], self.names[at]

    def is_no_worse(self, old: History) -> bool:
        """Whether it agrees longer than an old history, or as long and with similar words next."""
        return (len(self), self.likeness) >= (len(old), old.likeness)


class KnownPath:
    """The incomplete path of a role.

    Args:
        root: the initial `pyspiel.State`.
        knowledge: makes the percepts of the game.
        role: the role that knows the path; a player, not chance.
        turns: the turns in order.

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
        """The words of a turn that are not among the words of the turn before."""
        old, new = (self._turns[turn].words or "" for turn in (max(at - 1, 0), at))
        return set(_WORD.findall(new)) - set(_WORD.findall(old))

    def agreeing(self, actions: Sequence[int]) -> History:
        """The history of the longest beginning of these actions that agrees with the path."""
        state, history = self.root.clone(), History([], [], [], None)
        for at, action in enumerate(actions[: len(self)]):
            player, name = state.current_player(), name_of(state, action)
            old_words = self._old_words(state, at)
            if not self._plays(state, at, action) or not self._words_agree(state, at, old_words):
                state = self.state_after(history.actions)
                break
            history.actions.append(action)
            history.players.append(player)
            history.names.append(name)
        return replace(history, state=state)

    def replayed(self, old: History, actions: list[int]) -> History | None:
        """The history of `actions`, which differ from an old history's, if all agree.

        In turns without a digest, words are not compared.
        """
        pairs = enumerate(zip(old.actions, actions, strict=True))
        changed = {at for at, (was, now) in pairs if was != now}
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
                (looks is None or at in looks) and not self._words_agree(state, at)
            ):
                return None
        return History(actions, players, names, state)

    def extended(self, history: History, rng: np.random.Generator) -> History:
        """The history, extended by random actions that agree, until none does."""
        actions, players = list(history.actions), list(history.players)
        names, state = list(history.names), history.state
        for at in range(len(actions), len(self)):
            player, possible = state.current_player(), state.legal_actions()
            if player == self.role and self._turns[at].move != UNKNOWN:
                possible = [self._turns[at].move - 1]
            rejected, old_words = [], self._old_words(state, at)
            for index in rng.permutation(len(possible)).tolist():
                child = state.clone()
                if not self._plays(child, at, possible[index]):
                    continue
                if self._words_agree(child, at, old_words):
                    break
                rejected.append(child)
            else:
                return History(actions, players, names, state, *self._closest(rejected, at))
            names.append(name_of(state, possible[index]))
            actions.append(possible[index])
            players.append(player)
            state = child
        return History(actions, players, names, state)

    def log_priors(self, actions: list[int], first: int = 0) -> list[float]:
        """Logs of the probabilities of actions, from turn `first` on, if the other players move
        uniformly at random."""
        logs = []
        state = self.state_after(actions[:first])
        for at in range(first, len(actions)):
            action, player, turn = actions[at], state.current_player(), self._turns[at]
            if player < 0:
                share = sum(p for outcome, p in state.chance_outcomes() if outcome == action)
                logs.append(math.log(share) if share > 0 else -math.inf)
            # A move that the role chose is certain. A move drawn for it, in place of a refused one,
            # is as likely as any other.
            elif player == self.role and turn.is_chosen(action):
                logs.append(0.0)
            else:
                logs.append(-math.log(len(state.legal_actions())))
            state.apply_action(action)
        return logs

    def state_after(self, actions: Sequence[int]) -> Any:
        """The `pyspiel.State` after possible actions."""
        state = self.root.clone()
        for action in actions:
            state.apply_action(action)
        return state

    def _plays(self, state: Any, at: int, action: int) -> bool:
        """Play an action in place, if it may have been played in that turn; whether it was."""
        turn, legal = self._turns[at], state.legal_actions()
        if action not in legal:
            return False
        if state.current_player() == self.role:
            if not turn.allows(action, legal):
                return False
        elif turn.move not in (NOOP, UNKNOWN):
            return False
        self.visited += 1
        state.apply_action(action)
        player = state.current_player()
        return player != self._is_over and (turn.acts is None or (player == self.role) == turn.acts)

    def _old_words(self, state: Any, at: int) -> str | None:
        """The role's words before a turn that gives it no digest, in which they must not change;
        None for other turns."""
        turn = self._turns[at]
        if turn.digest is not None or turn.acts is None:
            return None
        return self._knowledge.words_of(state, self.role)

    def _words_agree(self, state: Any, at: int, old_words: str | None = None) -> bool:
        """Whether the role's words in this state, after a turn, agree with its path."""
        turn = self._turns[at]
        if turn.digest is None:
            return old_words is None or old_words == self._knowledge.words_of(state, self.role)
        words = self._knowledge.words_of(state, self.role)
        return digest_of(words) == turn.digest if turn.words is None else words == turn.words

    def _closest(self, states: list[Any], at: int) -> tuple[float, str]:
        """The role's words in the state where they are most similar to the words of a turn: their
        similarity, and the words."""
        target = self._turns[at].words
        if not states or target is None:
            return (0.0 if states else -math.inf), ""
        words = [self._knowledge.words_of(state, self.role) for state in states]
        return max((-_difference(text, target), text) for text in words)

    def compare_next(self, old: History, new: History) -> tuple[bool, bool] | None:
        """Whether the letters gained, and the letters lost, between the next words of two histories
        are part of the path's next words; None if the next words are the same.

        Args:
            old, new: histories of the same length.
        """
        target = self._turns[len(old)].words
        if target is None or old.next_words == new.next_words:
            return None
        gained, lost = [], []
        for old_line, new_line, target_line in zip_longest(
            *map(_LINE.split, (old.next_words, new.next_words, target)), fillvalue=""
        ):
            if old_line != new_line:
                were, are, should = map(_letters, (old_line, new_line, target_line))
                gained.append(are - were <= should - were)
                lost.append(were - are <= should - are)
        return all(gained), all(lost)


def name_of(state: Any, action: int) -> str:
    """The name of an action of the player to move in a `pyspiel.State`."""
    return str(state.action_to_string(state.current_player(), action))


def _difference(text: str, target: str) -> int:
    """Number of parts that only one of two texts has, line by line."""
    lines = zip_longest(_LINE.split(text), _LINE.split(target), fillvalue="")
    return sum(_line_difference(*pair) for pair in lines if pair[0] != pair[1])


@lru_cache(100_000)
def _line_difference(line: str, target: str) -> int:
    """Number of parts that only one of two lines has; parts are words, and their letters."""
    parts, target_parts = _parts(line), _parts(target)
    return (parts - target_parts).total() + (target_parts - parts).total()


def _parts(line: str) -> Counter[str]:
    return Counter(_WORD.findall(line)) + _letters(line)


def _letters(line: str) -> Counter[str]:
    return Counter("".join(_WORD.findall(line)))


# ------------------------------------------------------------------------
# The knowledge of players, as percepts.
#
# OpenSpiel has a string for the knowledge of a player (`information_state_string`), or at least for
# its view (`observation_string`). A player gets a digest of it as a percept whenever it has
# changed, and another percept if it moves next. Where the strings of players that do not act leak
# hidden information (see `Strings`), a player gets a digest only when it moves next. In games of
# perfect information, all players see the joint move, as in plain GDL.

_DIGEST_BYTES = 8


def digest_of(words: str) -> str:
    """The digest of the words for a player's knowledge."""
    return blake2b(words.encode(), digest_size=_DIGEST_BYTES).hexdigest()


class SpielPercepts:
    """The percepts of each role of a game.

    Args:
        game: the `pyspiel.Game`.
        roles: its roles, `random` last if there is chance.
        strings: faults of its strings.

    Attributes:
        is_open: whether players see joint moves.
        remembers: whether the words contain everything that a player ever knew.
    """

    def __init__(self, game: Any, roles: tuple[str, ...], strings: Strings) -> None:
        self._kind = game.get_type()
        self.is_open = is_open(game)
        self._only_when_acting = strings.leak
        self.remembers: bool = self._kind.provides_information_state_string
        self._roles, self._num_players = roles, game.num_players()
        self._joint: dict[tuple[int, ...], int] = {}

    def words_of(self, state: Any, player: int) -> str:
        """OpenSpiel's string for a player's knowledge in a `pyspiel.State`; empty where there is
        none."""
        if self._only_when_acting and not acts(state, player):
            return ""
        return knowledge_of(state, player, self._kind) or ""

    def percepts(
        self, terms: SpielTerms, node: Node, row: tuple[int, ...], child: Node
    ) -> list[int]:
        """`[R]` the percept ids of a joint move."""
        return [self.percept(terms, node, row, child, role) for role in range(len(self._roles))]

    def remember(self, terms: SpielTerms, child: Node, percepts: list[int]) -> None:
        """Keep the words of the percepts that led to a node: see `InformationState`."""
        for player in range(0 if self.is_open else self._num_players):
            terms.remember(percepts[player], self.words_of(child.state, player))

    def percept(
        self, terms: SpielTerms, node: Node, row: tuple[int, ...], child: Node, role: int
    ) -> int:
        """The percept id of a single role after a joint move."""
        if self.is_open:
            return self._joint_percept(terms, row)
        # A node has one history, so it can cache the percepts of its last turn.
        percept_id = child.percepts.get(role)
        if percept_id is None:
            texts: tuple[str, ...] = ()
            if role < self._num_players:
                new, acting = self.digest(child, role), child.acts(role)
                if acting if self._only_when_acting else new != self.digest(node, role):
                    texts = (told_percept(new),)
                if acting:
                    texts = (*texts, YOUR_MOVE)
            percept_id = child.percepts[role] = terms.number_of(texts)
        return percept_id

    def digest(self, node: Node, player: int) -> str:
        """The digest of the words for a player's knowledge."""
        digest = node.digests.get(player)
        if digest is None:
            digest = node.digests[player] = digest_of(self.words_of(node.state, player))
        return digest

    def _joint_percept(self, terms: SpielTerms, row: tuple[int, ...]) -> int:
        if row not in self._joint:
            texts = joint_percepts(self._roles, list(map(terms.move_text, row)))
            self._joint[row] = terms.number_of(texts)
        return self._joint[row]
