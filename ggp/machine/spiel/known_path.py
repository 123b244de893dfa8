"""Histories held against what a role knows: how long they agree, and how nearly they go on.

A role is told digests, which are equal or not. Where the words that one stands for came with it,
what a history would have told instead can be more or less like it:

    it was told     Hand: S KT2  H 4        of these, K, T and 2 of S and 4 of H
    this tells      Hand: S KT   H 42       all but one, and one that is not among them
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ggp.machine.base import UNKNOWN
from ggp.machine.spiel.knowledge import Knowledge, digest_of
from ggp.machine.spiel.terms import NOOP

_LINE, _WORD = re.compile(r"[\n|]+"), re.compile(r"[^\s:=]+")


class KnownTurn(NamedTuple):
    """What a role knows of a turn.

    Attributes:
        move: its own, `UNKNOWN` if it was not told.
        refused: see `PathTree.extend`.
        acts: whether it moves next; None where it was not told.
        digest: of what it knows afterwards; None where it was not told.
        words: the same in full, where they came with the digest.
    """

    move: int
    refused: int
    acts: bool | None
    digest: str | None
    words: str | None


class Made:
    """A turn of a history.

    Attributes:
        player: who moved.
        action: what it did.
        is_chosen: whether it is the role itself, and chose it.
        after: the state after it.
    """

    __slots__ = ("_before", "_log_prior", "action", "after", "is_chosen", "player")

    def __init__(
        self, before: Any, player: int, action: int, after: Any, *, is_chosen: bool
    ) -> None:
        self.player, self.action, self.after, self.is_chosen = player, action, after, is_chosen
        self._before, self._log_prior = before, 1.0

    @property
    def log_prior(self) -> float:
        """The log of the probability of the action, if others than the role move evenly."""
        if self._log_prior > 0:  # it is slow to find out, and nobody may ask
            self._log_prior = self._find_log_prior()
        return self._log_prior

    def _find_log_prior(self) -> float:
        if self.is_chosen:
            return 0.0
        if self.player >= 0:
            return -math.log(len(self._before.legal_actions()))
        share = dict(self._before.chance_outcomes()).get(self.action, 0.0)
        return math.log(share) if share > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class History:
    """The first turns of a history, as far as they agree with what a role knows.

    Attributes:
        turns: one after the other.
        likeness: of what the role could be told next to what it was told; the higher the more.
    """

    turns: list[Made]
    likeness: float

    @property
    def actions(self) -> list[int]:
        return [turn.action for turn in self.turns]

    def is_no_worse(self, other: History) -> bool:
        """Whether it agrees for longer than another, or goes on as nearly."""
        return (len(self.turns), self.likeness) >= (len(other.turns), other.likeness)


class KnownPath:
    """The incomplete path of a role.

    Args:
        root: the `pyspiel.State` that matches begin in.
        knowledge: of the game.
        role: whose path; a player, not chance.
        turns: one after the other.

    Attributes:
        visited: states that were made.
    """

    def __init__(
        self, root: Any, knowledge: Knowledge, role: int, turns: Sequence[KnownTurn]
    ) -> None:
        self.root, self.role = root, role
        self.visited = 0
        self._knowledge, self._turns = knowledge, turns

    def __len__(self) -> int:
        return len(self._turns)

    def news(self, at: int) -> set[str]:
        """What the role is told in a turn, in words that it was not told in the turn before."""
        before, after = (self._turns[turn].words or "" for turn in (max(at - 1, 0), at))
        return set(_WORD.findall(after)) - set(_WORD.findall(before))

    def begun(self, turns: list[Made], actions: Sequence[int]) -> list[Made]:
        """Turns and those that these actions add to them, as long as they agree."""
        turns = list(turns)
        state = turns[-1].after if turns else self.root
        for at in range(len(turns), min(len(actions), len(self._turns))):
            made, _ = self._make(state, at, actions[at])
            if made is None:
                break
            turns.append(made)
            state = made.after
        return turns

    def extended(self, turns: list[Made], rng: np.random.Generator) -> History:
        """Turns and what may follow, one after the other, as long as something agrees."""
        turns = list(turns)
        state = turns[-1].after if turns else self.root
        for at in range(len(turns), len(self._turns)):
            best = -math.inf
            actions = state.legal_actions()
            if state.current_player() == self.role and self._turns[at].move != UNKNOWN:
                actions = [self._turns[at].move - 1]
            for place in rng.permutation(len(actions)).tolist():
                made, likeness = self._make(state, at, actions[place])
                if made is not None:
                    break
                best = max(best, likeness)
            else:
                return History(turns, best)
            turns.append(made)
            state = made.after
        return History(turns, 0.0)

    def _make(self, state: Any, at: int, action: int) -> tuple[Made | None, float]:
        """A turn, if it agrees; else how like it is what the role is told then."""
        turn, player = self._turns[at], state.current_player()
        if not self._is_possible(state, turn, player, action):
            return None, -math.inf
        self.visited += 1
        after = state.clone()
        after.apply_action(action)
        if after.is_terminal() or (
            turn.acts is not None and (after.current_player() == self.role) != turn.acts
        ):
            return None, -math.inf
        if turn.digest is not None:
            words = self._knowledge.words_of(after, self.role)
            if turn.words is None:
                if digest_of(words) != turn.digest:
                    return None, 0.0
            elif words != turn.words:
                return None, -_difference(words, turn.words)
        # What we chose is certain; what was drawn for us is as likely as our other moves.
        is_chosen = player == self.role and turn.move != UNKNOWN == turn.refused
        return Made(state, player, action, after, is_chosen=is_chosen), 0.0

    def _is_possible(self, state: Any, turn: KnownTurn, player: int, action: int) -> bool:
        """Whether an action may have been made in a turn."""
        legal = state.legal_actions()
        if action not in legal:
            return False
        if player != self.role:
            return turn.move in (NOOP, UNKNOWN)
        return turn.move in (action + 1, UNKNOWN) and turn.refused - 1 not in legal


def _difference(left: str, right: str) -> int:
    """How many parts are in what a role is told one time and not the other, line by line."""
    lines = zip_longest(_LINE.split(left), _LINE.split(right), fillvalue="")
    return sum(_line_difference(*pair) for pair in lines if pair[0] != pair[1])


@lru_cache(100_000)
def _line_difference(left: str, right: str) -> int:
    """The same of one line: of its words, and of their characters."""
    ours, others = _parts(left), _parts(right)
    return (ours - others).total() + (others - ours).total()


def _parts(line: str) -> Counter[str]:
    words = _WORD.findall(line)
    return Counter(words) + Counter("".join(words))
