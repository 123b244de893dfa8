"""Risk: moves that may be refused, because they are legal only in some of the possible states.

`belief_player` passes in a bag and gets its candidates, or passes in a chosen move with values and
gets a safer move. In most games a role knows its legal moves. Otherwise an illegal move is replaced
by another one, or loses the match. So a sure move, legal in every particle, is preferred, unless
the chosen move is better by more than the error of both values. If a role does not know all of its
own past moves, the chosen move must also be legal with probability 1/2, because each mistake leaves
the role knowing less. Moves that only some readings of careless rules allow (`doubtful_moves`) are
not sure either.

    particles    1 2 3      value         choice: c, though b seems better
    a                x      90 +- 30
    b            x   x      60 +- 10
    c            x x x      55 +- 5
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from math import hypot
from typing import NamedTuple

import numpy as np

from ggp.belief import Bags
from ggp.gdl import parse_term
from ggp.gdl.program import LEGAL, NormalRule, Program, unify
from ggp.gdl.safety import is_range
from ggp.gdl.terms import Compound, Signature, Term, signature, variables
from ggp.machine.arrays import first_seen
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import choice
from ggp.players.player import MoveValue

_log = logging.getLogger(__name__)


LIKELY = 0.5
"""Share of the particles, by weight, in which a move must be legal to be preferred to a sure move,
if the role does not know all of its past moves."""


class Risk(StrEnum):
    """Treatment of moves that may be refused: avoid them as above, or ignore the risk."""

    AVOID = "avoid"
    PLAY = "play"


@dataclass(frozen=True)
class RiskOptions:
    """Options of every player with a belief."""

    risk: Risk = choice(
        Risk.AVOID,
        "moves that are illegal in some particles: avoid (unless better by more than the error), "
        "or play",
    )


class Candidates(NamedTuple):
    """Moves that are legal in some entry of a bag, in order of appearance.

    Attributes:
        moves: ids of the moves.
        sure: moves that are legal in all entries with legal moves, and that all readings of the
            rules allow.
        likely: moves that are legal in half of the entries, by weight.
    """

    moves: list[int]
    sure: frozenset[int]
    likely: frozenset[int]

    @property
    def is_risky(self) -> bool:
        """Whether some moves are sure and others are not."""
        return 0 < len(self.sure) < len(self.moves)


class Doubts:
    """Moves that other programs may consider illegal, though our reading of the rules allows them.

    Args:
        machine: has the texts of moves.
        program: the rules of the game; None if unknown.
    """

    def __init__(self, machine: Machine, program: GameDefinition | None) -> None:
        self._machine = machine
        self._patterns = () if program is None else doubtful_moves(program.as_program())
        self._doubtful: dict[int, bool] = {}
        self._has_warned = False

    def without(self, moves: frozenset[int]) -> frozenset[int]:
        """The moves without the doubtful ones, unless all are doubtful; logged the first time."""
        if not self._patterns:
            return moves
        certain = frozenset(move for move in moves if not self._is_doubtful(move))
        if not certain or len(certain) == len(moves):
            return moves
        if not self._has_warned:
            self._has_warned = True
            patterns = ", ".join(dict.fromkeys(map(str, self._patterns)))
            _log.warning("other programs may consider moves like %s illegal: avoided", patterns)
        return certain

    def _is_doubtful(self, move: int) -> bool:
        if move not in self._doubtful:
            term = parse_term(self._machine.move_text(move))
            self._doubtful[move] = any(unify(p, term) is not None for p in self._patterns)
        return self._doubtful[move]


def candidates_of(machine: Machine, bag: Bags, doubts: Doubts) -> Candidates:
    """The candidates of one bag; a depleted one has none."""
    legal = machine.legal(bag.states_of(0), bag.role, allow_stuck=True)
    first, group = first_seen(legal.values)
    moves = legal.values[first].tolist()
    is_sure = np.bincount(group, minlength=len(moves)) == np.count_nonzero(legal.counts)
    sure = frozenset(np.array(moves, dtype=np.int64)[is_sure].tolist())
    share = np.bincount(group, np.repeat(bag.weights_of(0), legal.counts), minlength=len(moves))
    likely = frozenset(np.array(moves, dtype=np.int64)[share >= LIKELY].tolist())
    return Candidates(moves, doubts.without(sure), likely)


def prudent(
    candidate: str, values: Sequence[MoveValue], sure: Set[str], *, likely: bool = True
) -> str | None:
    """A sure move to play instead of the chosen move; None to play the chosen move.

    Args:
        candidate: the chosen move, canonical KIF.
        values: of the candidates.
        sure: moves that are legal in every particle.
        likely: whether the chosen move may be preferred at all, see `LIKELY`.

    Returns:
        The sure move of the highest value, unless the chosen move is likely, and better by more
        than the errors of both; a value without an error is not trusted. Without values, the first
        by text.
    """
    if candidate in sure or not sure:
        return None
    valued = {value.move: value for value in values if value.value is not None}
    sure_values = [valued[move] for move in sorted(sure & valued.keys())]
    if not sure_values:
        return min(sure)
    best = max(sure_values, key=_value)
    if likely and candidate in valued:
        own_value = valued[candidate]
        if own_value.stderr is not None and best.stderr is not None:
            error = hypot(own_value.stderr, best.stderr)
            if _value(own_value) - _value(best) > error:
                return None
    return best.move


def sure_share(probabilities: Mapping[str, float], sure: Set[str]) -> dict[str, float]:
    """Probabilities of the sure moves, normalised; empty if they sum to 0.

    >>> sure_share({"a": 0.2, "b": 0.5, "c": 0.3}, sure={"a", "c"})
    {'a': 0.4, 'c': 0.6}
    """
    total = sum(share for move, share in probabilities.items() if move in sure)
    if not total:
        return {}
    return {move: share / total for move, share in probabilities.items() if move in sure}


def _value(value: MoveValue) -> float:
    return -np.inf if value.value is None else value.value


# ------------------------------------------------------------------------
# Doubtful moves: a slip in the rules leaves a variable of their rule unbound.
#
# (<= (legal ?p (go ?x ?y)) (true (at ?p ?x)))
#
# We let `?y` range over its possible values. Other programs may find no move here at all, or a move
# with a variable in it. So a player should prefer any other move.

_Positions = Set[tuple[Signature, int]]


def doubtful_moves(program: Program) -> tuple[Term, ...]:
    """Patterns of moves with an unbound variable; usually there are none.

    A variable for the role does not count: every query for legal moves binds it.
    """
    if not any(is_range(signature(x.atom)) for rule in program.rules for x in rule.body):
        return ()
    doubtful = _doubtful_positions(program.rules)
    patterns = []
    for rule in program.by_head.get(LEGAL, ()):
        names = _unbound(rule, doubtful)
        if isinstance(rule.head, Compound):
            move = rule.head.args[1]
            if any(v.name in names for v in variables(move)):
                patterns.append(move)
    return tuple(patterns)


def _doubtful_positions(rules: Iterable[NormalRule]) -> _Positions:
    """Arguments of relations that an unbound variable may reach, also through other relations."""
    rules = [rule for rule in rules if isinstance(rule.head, Compound) and rule.body]
    positions: set[tuple[Signature, int]] = set()
    while True:
        reached = {
            (signature(rule.head), i)
            for rule in rules
            if (names := _unbound(rule, positions)) and isinstance(rule.head, Compound)
            for i, arg in enumerate(rule.head.args)
            if any(v.name in names for v in variables(arg))
        }
        if reached <= positions:
            return positions
        positions |= reached


def _unbound(rule: NormalRule, doubtful: _Positions) -> Set[str]:
    """Variables of a rule that only ranges or doubtful arguments bind."""
    bound: set[str] = set()
    loose: set[str] = set()
    for literal in rule.body:
        if not literal.binds or not isinstance(literal.atom, Compound):
            continue
        sig = signature(literal.atom)
        for i, arg in enumerate(literal.atom.args):
            names = {v.name for v in variables(arg)}
            (loose if is_range(sig) or (sig, i) in doubtful else bound).update(names)
    return loose - bound
