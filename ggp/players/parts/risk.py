"""Moves that may be refused: legal in some, but not all, states that the role may be in.

In most games a role can tell what is legal for it. Where it cannot, or was not told everything, an
illegal move is replaced by another one, or loses the match. So a move that is legal in every
particle is preferred, unless the other is better by more than the error of both values. If a role
was not told all of its own moves, the other must also be at least as likely legal as not: each
mistake leaves the role knowing less. A move that every reading of careless rules allows
(`doubtful_moves`) is preferred likewise.

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
"""Share of the particles, by weight, in which a move must be legal to be preferred to a sure one,
for a role that was not told all of its moves."""


class Risk(StrEnum):
    """Treatment of moves that may be refused: see above, or none."""

    AVOID = "avoid"
    PLAY = "play"


@dataclass(frozen=True)
class RiskOptions:
    """Options of every player that has a belief."""

    risk: Risk = choice(
        Risk.AVOID,
        "moves that are illegal in some particles: avoid (unless better by more than the error), "
        "or play",
    )


class Candidates(NamedTuple):
    """Moves that are legal in some entry of a bag, in order of appearance.

    Attributes:
        known: ids of the moves.
        sure: moves that are legal in all entries in which any is, and that all readings of the
            rules allow, if there are such moves.
        likely: moves that are legal in half of the entries, by weight.
    """

    known: list[int]
    sure: frozenset[int]
    likely: frozenset[int]

    @property
    def is_risky(self) -> bool:
        """Whether some moves are sure and others are not."""
        return 0 < len(self.sure) < len(self.known)


class Doubts:
    """Moves that others may take for illegal though our reading of the rules allows them.

    Args:
        machine: gives the texts of moves.
        program: the rules of the game; None if unknown.
    """

    def __init__(self, machine: Machine, program: GameDefinition | None) -> None:
        self._machine = machine
        self._patterns = () if program is None else doubtful_moves(program.as_program())
        self._known: dict[int, bool] = {}
        self._has_told = False

    def without(self, moves: frozenset[int]) -> frozenset[int]:
        """The moves without the doubtful ones, unless all are; logged the first time."""
        if not self._patterns:
            return moves
        certain = frozenset(move for move in moves if not self._is_doubtful(move))
        if not certain or len(certain) == len(moves):
            return moves
        if not self._has_told:
            self._has_told = True
            shown = ", ".join(dict.fromkeys(map(str, self._patterns)))
            _log.warning("some may take moves like %s for illegal: others are preferred", shown)
        return certain

    def _is_doubtful(self, move: int) -> bool:
        if move not in self._known:
            term = parse_term(self._machine.move_text(move))
            self._known[move] = any(unify(each, term) is not None for each in self._patterns)
        return self._known[move]


def candidates_of(machine: Machine, bag: Bags, doubts: Doubts) -> Candidates:
    """The candidates of one bag; a depleted one has none."""
    legal = machine.legal(bag.states_of(0), bag.role, allow_stuck=True)
    first, group = first_seen(legal.values)
    known = legal.values[first].tolist()
    is_sure = np.bincount(group, minlength=len(known)) == np.count_nonzero(legal.counts)
    sure = frozenset(np.array(known, dtype=np.int64)[is_sure].tolist())
    share = np.bincount(group, np.repeat(bag.weights_of(0), legal.counts), minlength=len(known))
    likely = frozenset(np.array(known, dtype=np.int64)[share >= LIKELY].tolist())
    return Candidates(known, doubts.without(sure), likely)


def prudent(
    chosen: str, values: Sequence[MoveValue], sure: Set[str], *, likely: bool = True
) -> str | None:
    """The move to play instead of one that may be refused; None for the chosen move itself.

    Args:
        chosen: by the player, canonical KIF.
        values: of the candidates.
        sure: moves that are legal in every particle.
        likely: whether the chosen one may be preferred at all, see `LIKELY`.

    Returns:
        The sure move of the highest value, unless the chosen one is likely, and better by more than
        the errors of both; a value that tells no error is not trusted. Without values, the first by
        text.
    """
    if chosen in sure or not sure:
        return None
    valued = {each.move: each for each in values if each.value is not None}
    known = [valued[move] for move in sorted(sure & valued.keys())]
    if not known:
        return min(sure)
    best = max(known, key=_value)
    if likely and chosen in valued:
        other = valued[chosen]
        if other.stderr is not None and best.stderr is not None:
            error = hypot(other.stderr, best.stderr)
            if _value(other) - _value(best) > error:
                return None
    return best.move


def sure_share(probabilities: Mapping[str, float], sure: Set[str]) -> dict[str, float]:
    """Probabilities of sure moves alone, with sum 1; empty where there are none."""
    total = sum(share for move, share in probabilities.items() if move in sure)
    if not total:
        return {}
    return {move: share / total for move, share in probabilities.items() if move in sure}


def _value(each: MoveValue) -> float:
    return -np.inf if each.value is None else each.value


# ------------------------------------------------------------------------
# Moves that only a slip in the rules allows: nothing binds a variable of their rule.
#
# (<= (legal ?p (go ?x ?y)) (true (at ?p ?x)))
#
# We let `?y` range over the values it can take. Others read it otherwise: a reasoner may find no
# move there at all, or one with a variable in it. So a player that has another move had better make
# that.

_Positions = Set[tuple[Signature, int]]


def doubtful_moves(program: Program) -> tuple[Term, ...]:
    """Patterns of the moves that come from a variable which nothing binds; usually there are none.

    Roles are left out: a variable for a role is bound by whoever asks for the moves of a role.
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
    """Arguments of relations that may come, through other relations, from an unbound variable."""
    rules = [rule for rule in rules if isinstance(rule.head, Compound) and rule.body]
    found: set[tuple[Signature, int]] = set()
    while True:
        more = {
            (signature(rule.head), i)
            for rule in rules
            if (names := _unbound(rule, found)) and isinstance(rule.head, Compound)
            for i, arg in enumerate(rule.head.args)
            if any(v.name in names for v in variables(arg))
        }
        if more <= found:
            return found
        found |= more


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
