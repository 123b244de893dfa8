"""Finds faults of a game by random matches, for its author.

`ggp validate --play` passes a machine and prints the `Rehearsal`. Well-formed rules may still make
an unplayable game: a role without a legal move, matches that never end, ends without a goal value.
And in a game with hidden information a role's incomplete path must determine its legal moves. It
does not if two matches agree in the role's own moves and percepts, but not in its legal moves; the
report shows both.

Random matches rarely agree for long. So for each role there are as many more matches in which it
makes the same move wherever it can: then its paths differ only by percepts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.gdl.analysis.frames import Frames, vanished_message
from ggp.gdl.formal import goal_value_error
from ggp.gdl.terms import Symbol
from ggp.machine.abilities import GoalTexts
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States, is_open, player_roles
from ggp.machine.goal_values import number_or_nan
from ggp.search.moves import MoveLists

MAX_TURNS = 1000
"""Turns after which a match is given up, as in the match runner."""

MAX_SECONDS = 600.0
"""Seconds after which the rehearsal ends. Unfinished matches do not count, unless there are no
others."""

_LANES = {"prolog": 16}
_MAX_LANES = 256
"""Number of matches side by side."""


class RehearsalLimits(NamedTuple):
    """Limits of a rehearsal.

    Attributes:
        max_turns: number of turns after which a match counts as endless.
        max_seconds: time limit for all matches, by the clock.
    """

    max_turns: int = MAX_TURNS
    max_seconds: float = MAX_SECONDS
    clock: Callable[[], float] = time.monotonic


USUAL_LIMITS = RehearsalLimits()


def rehearse(
    machine: Machine,
    matches: int,
    seed: int,
    *,
    frames: Frames | None = None,
    count_matches: Callable[[int], None] = lambda _: None,
    count_turns: Callable[[int], None] = lambda _: None,
    limits: RehearsalLimits = USUAL_LIMITS,
) -> Rehearsal:
    """Play random matches, and as many more for each role if moves are hidden.

    >>> from ggp.machine.games import build_machine, load_program
    >>> machine = build_machine(load_program("kuhn_poker"), "prolog")
    >>> rehearsal = rehearse(machine, matches=20, seed=1)
    >>> rehearsal.matches, rehearsal.ended, rehearsal.troubles
    (20, 20, ())

    Args:
        frames: finds fluents that vanish; None to omit this check.
        count_matches: called with the number of matches since the last call.
        count_turns: called with the number of turns of the current matches.

    Raises:
        ReasonerLimitError: the rules loop or explode.
    """
    max_turns, max_seconds, clock = limits
    started = clock()

    def is_late() -> bool:
        return clock() - started > max_seconds

    run = _Rehearsal(machine, max_turns, is_late, count_turns, frames)
    lanes = _LANES.get(machine.backend, _MAX_LANES)
    steady = [None] if is_open(machine) else [None, *player_roles(machine)]
    for batch, begin in enumerate(range(0, matches, lanes)):
        if is_late() and batch:  # the first matches at least show that they do not end
            break
        for role in steady:
            rng = np.random.default_rng((seed, batch, 0 if role is None else role + 1))
            run.play(min(lanes, matches - begin), role, rng)
            count_matches(min(lanes, matches - begin))
    return run.result(clock() - started, seed)


def matches_in(machine: Machine, matches: int) -> int:
    """Number of matches that `rehearse` plays in all, for a progress bar."""
    return matches * (1 if is_open(machine) else 1 + len(player_roles(machine)))


class _Turn(NamedTuple):
    """The joint moves `[L, R]` of one turn of unfinished matches, and the matches' numbers."""

    matches: IntArray
    joint: IntArray


@dataclass(slots=True)
class _Fault:
    """A kind of trouble of a role: its first occurrence, and the number of matches."""

    message: str
    heads: tuple[str, ...]
    histories: tuple[MatchBeginning, ...]
    knows: tuple[str, ...] = ()
    matches: int = 0


@dataclass(slots=True)
class _Figures:
    """Numbers of the matches so far, one entry each."""

    turns: list[int] = field(default_factory=list)
    goals: list[list[float]] = field(default_factory=list)
    chance: int = 0
    matches: int = 0
    most_moves: dict[int, int] = field(default_factory=dict)


class _Rehearsal:
    """The matches so far."""

    def __init__(
        self,
        machine: Machine,
        max_turns: int,
        is_late: Callable[[], bool],
        count_turns: Callable[[int], None],
        frames: Frames | None,
    ) -> None:
        self._machine, self._max_turns, self._is_late = machine, max_turns, is_late
        self._count_turns, self._frames = count_turns, frames
        self._players = player_roles(machine)
        self._faults: dict[tuple[Kind, int | None], _Fault] = {}
        self._figures = _Figures()

    def play(self, lanes: int, steady: int | None, rng: np.random.Generator) -> None:
        """Play some matches; with a steady role only to compare paths with legal moves."""
        machine, counts = self._machine, steady is None
        tree = PathTree(machine)
        states, matches = machine.initial(lanes), np.arange(lanes)
        paths = np.tile(np.arange(len(machine.roles)), (lanes, 1))
        turns: list[_Turn] = []
        self._figures.matches += lanes if counts else 0
        unknowable: set[tuple[int, int]] = set()
        while True:
            over = machine.terminal(states)
            if counts:
                self._ended(states.take(np.flatnonzero(over)), matches[over], turns)
            lists = [MoveLists(machine, states, role) for role in range(len(machine.roles))]
            stuck = np.stack([moves.counts == 0 for moves in lists], axis=1) & ~over[:, None]
            if counts:
                self._stuck(states, matches, stuck, turns)
            going = np.flatnonzero(~over & ~stuck.any(axis=1))
            if not len(going) or len(turns) == self._max_turns:
                break
            if self._is_late():
                if counts and self._figures.matches == len(going):
                    message = f"time is up, and the match is not over after {len(turns)} turns"
                    self._note("endless", None, message, ("terminal",), matches[going], turns)
                elif counts:
                    self._figures.matches -= len(going)
                return
            self._count_turns(len(turns))
            if len(going) < len(matches):
                states, matches, paths = states.take(going), matches[going], paths[going]
                lists = [MoveLists(machine, states, role) for role in range(len(machine.roles))]
            for role in self._players:
                self._compare(tree, role, paths[:, role], lists[role], matches, turns, unknowable)
            self._count(lists, counts)
            joint = np.stack(
                [_choices(moves, role == steady, rng) for role, moves in enumerate(lists)], axis=1
            )
            turns.append(_Turn(matches, joint))
            old_states = states
            states, percepts = machine.step(old_states, joint)
            if counts:
                self._vanished(old_states, states, matches, turns)
            columns = zip(paths.T, joint.T, percepts.T, strict=True)
            paths = np.stack([tree.extend(*column) for column in columns], axis=1)
        if counts and len(going):
            message = f"the match is not over after {self._max_turns} turns"
            self._note("endless", None, message, ("terminal",), matches[going], turns)

    def result(self, seconds: float, seed: int) -> Rehearsal:
        """All findings."""
        figures, machine = self._figures, self._machine
        turns = figures.turns
        order = list(_ORDER)
        troubles = [
            Trouble(kind, None if role is None else machine.roles[role], fault.matches,
                    fault.message, fault.heads, fault.knows, fault.histories)
            for (kind, role), fault in sorted(
                self._faults.items(), key=lambda f: (order.index(f[0][0]), f[0][1] or 0)
            )
        ]  # fmt: skip
        return Rehearsal(
            matches=figures.matches,
            ended=len(turns),
            shortest=min(turns, default=0),
            longest=max(turns, default=0),
            mean_turns=round(float(np.mean(turns)), 3) if turns else 0.0,
            chance_moves=round(figures.chance / max(figures.matches, 1), 3),
            roles={machine.roles[role]: self._role(role) for role in self._players},
            troubles=tuple(troubles),
            seconds=seconds,
            seed=seed,
            backend=machine.backend,
        )

    def _role(self, role: int) -> RolePlay:
        most = self._figures.most_moves.get(role, 0)
        scores = [goals[role] for goals in self._figures.goals]
        if not scores:
            return RolePlay(most, None, None, None)
        return RolePlay(most, round(float(np.mean(scores)), 3), min(scores), max(scores))

    # ---------------------------------------------------------------- checks of a turn

    def _count(self, lists: Sequence[MoveLists], counts: bool) -> None:
        if not counts:
            return
        for role in self._players:
            most = int(lists[role].counts.max())
            self._figures.most_moves[role] = max(self._figures.most_moves.get(role, 0), most)
        if self._machine.random_role is not None:
            self._figures.chance += int((lists[self._machine.random_role].counts > 1).sum())

    def _stuck(
        self, states: States, matches: IntArray, stuck: BoolArray, turns: list[_Turn]
    ) -> None:
        for role in np.flatnonzero(stuck.any(axis=0)).tolist():
            lanes = np.flatnonzero(stuck[:, role])
            fluents = " ".join(self._machine.fluents(states.take(lanes[:1]))[0])
            message = f"no legal move at turn {len(turns) + 1}, in the state {fluents}"
            name = self._machine.roles[role]
            heads = (f"(legal {name} ?move)", f"(role {name})")
            self._note("stuck", role, message, heads, matches[lanes], turns)

    def _vanished(self, old: States, new: States, matches: IntArray, turns: list[_Turn]) -> None:
        """Check the first match for fluents that no rule keeps; one match is enough."""
        if self._frames is None or ("no-frame", None) in self._faults:
            return
        texts = [self._machine.fluents(states.take(np.arange(1)))[0] for states in (old, new)]
        fluent = self._frames.vanished(*texts)
        if fluent is not None:
            heads = (f"(next {fluent})", f"(init {fluent})")
            self._note("no-frame", None, vanished_message(fluent), heads, matches[:1], turns)

    def _ended(self, states: States, matches: IntArray, turns: list[_Turn]) -> None:
        if not len(matches):
            return
        machine = self._machine
        self._figures.turns += [len(turns)] * len(matches)
        if not isinstance(machine, GoalTexts):  # goals are numbers from the first
            self._figures.goals += machine.goals(states).tolist()
            return
        for match, texts in zip(matches.tolist(), machine.goal_texts(states), strict=True):
            values = [0.0] * len(machine.roles)
            for role in self._players:
                name, value = machine.roles[role], next(iter(texts[role]), "?value")
                heads = (f"(goal {name} {value})", f"(role {name})")
                for kind, message in _goal_troubles(texts[role]):
                    self._note(kind, role, message, heads, (match,), turns)
                values[role] = _number(texts[role])
            self._figures.goals.append(values)

    def _compare(
        self,
        tree: PathTree,
        role: int,
        paths: IntArray,
        moves: MoveLists,
        matches: IntArray,
        turns: list[_Turn],
        doubted: set[tuple[int, int]],
    ) -> None:
        """Record paths of a role that do not determine its legal moves."""
        sets = _sets(moves.moves)
        order = np.lexsort((sets, paths))
        agree = paths[order][1:] == paths[order][:-1]
        differ = np.flatnonzero(agree & (sets[order][1:] != sets[order][:-1]))
        if not len(differ):
            return
        of_doubt = np.isin(paths, paths[order][differ])
        new = {(role, match) for match in matches[of_doubt].tolist()} - doubted
        doubted |= new
        first, second = order[differ[0]], order[differ[0] + 1]
        pair = [(int(matches[lane]), moves.moves[int(lane)]) for lane in (first, second)]
        histories = tuple(self._history(match, turns, legal) for match, legal in pair)
        move = min(set(histories[0].legal) ^ set(histories[1].legal))
        fault = self._faults.setdefault(
            ("unknowable", role),
            _Fault(
                f"what it did and saw before turn {len(turns) + 1} does not tell its legal moves",
                (f"(legal {self._machine.roles[role]} {move})",),
                histories,
                tuple(tree.texts(int(paths[first]))),
            ),
        )
        fault.matches += len(new)

    def _note(
        self,
        kind: Kind,
        role: int | None,
        message: str,
        heads: tuple[str, ...],
        matches: IntArray | Sequence[int],
        turns: list[_Turn],
    ) -> None:
        fault = self._faults.get((kind, role))
        if fault is None:
            fault = _Fault(message, heads, (self._history(int(matches[0]), turns),))
            self._faults[kind, role] = fault
        fault.matches += len(matches)

    def _history(
        self, match: int, turns: list[_Turn], legal: IntArray | None = None
    ) -> MatchBeginning:
        machine = self._machine
        joint_moves = []
        for turn in turns:
            (lane,) = np.flatnonzero(turn.matches == match)
            texts = map(machine.move_text, turn.joint[lane].tolist())
            joint_moves.append(dict(zip(machine.roles, texts, strict=True)))
        moves = () if legal is None else tuple(sorted(map(machine.move_text, legal.tolist())))
        return MatchBeginning(tuple(joint_moves), moves)


_ORDER: tuple[Kind, ...] = (
    *("stuck", "endless", "goal-value", "no-goal", "several-goals", "no-frame", "unknowable"),
)  # fmt: skip


def _goal_troubles(texts: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """The troubles with the goal values of a role at the end."""
    if not texts:
        yield "no-goal", "the game ends without a goal value: it counts as 0"
        return
    if len(set(texts)) > 1:
        listed = ", ".join(sorted(set(texts)))
        yield "several-goals", f"the game ends with the goal values {listed}: the first rule counts"
    wrong = goal_value_error(Symbol(texts[0]))
    if wrong:
        yield "goal-value", f"the goal value {texts[0]} {wrong}"


def _number(texts: Sequence[str]) -> float:
    return float(np.nan_to_num(number_or_nan(texts[0]))) if texts else 0.0


def _sets(moves: Ragged) -> IntArray:
    """`[L]` random hashes of sets of moves, equal for equal sets; no set is empty."""
    marks = np.random.default_rng(0).integers(0, 1 << 62, int(moves.values.max()) + 1)
    return np.asarray(np.add.reduceat(marks[moves.values], moves.offsets[:-1]))


def _choices(moves: MoveLists, steady: bool, rng: np.random.Generator) -> IntArray:
    """`[L]` a random move in each lane; `steady`: the same one wherever it is legal."""
    lanes = np.arange(len(moves.counts))
    if not steady:
        return moves.at(lanes, moves.draw(lanes, rng))
    listed = moves.moves
    order = rng.permutation(int(listed.values.max()) + 1)
    first = np.minimum.reduceat(order[listed.values], listed.offsets[:-1])
    return np.asarray(np.argsort(order)[first])


# ------------------------------------------------------------------------
# The findings of a rehearsal, as values.

Kind = Literal[
    "stuck", "endless", "no-goal", "several-goals", "goal-value", "unknowable", "no-frame"
]

ERRORS: frozenset[Kind] = frozenset({"stuck", "endless"})
"""Kinds of trouble that make a game unplayable; matches can be played despite the others."""


@dataclass(frozen=True, slots=True)
class MatchBeginning:
    """The beginning of a match.

    Attributes:
        joint_moves: the moves of each turn, by role, as `ggp trace --moves` takes them.
        legal: the role's sorted legal moves after these; empty if they do not matter.
    """

    joint_moves: tuple[Mapping[str, str], ...]
    legal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of a game.

    Attributes:
        kind: its kind.
        role: the role that has it; None for all.
        matches: number of matches in which it occurred.
        message: one sentence.
        heads: heads of rules, as KIF: the first that some rule has tells where the fault is.
        knows: for `unknowable`, the role's moves and percepts, one "move / percepts" for each turn.
        histories: two for `unknowable`, one for others.
    """

    kind: Kind
    role: str | None
    matches: int
    message: str
    heads: tuple[str, ...]
    knows: tuple[str, ...]
    histories: tuple[MatchBeginning, ...]


@dataclass(frozen=True, slots=True)
class RolePlay:
    """A role in random matches.

    Attributes:
        most_moves: greatest number of its legal moves in a turn.
        mean, lowest, highest: goal values of the matches that ended; None if none did.
    """

    most_moves: int
    mean: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The findings of random matches.

    Attributes:
        matches: number of matches.
        ended: number of matches that came to their end.
        shortest, longest: their numbers of turns, 0 if none ended.
        mean_turns: their mean number of turns, 0 if none ended.
        chance_moves: mean number of turns of a match in which chance had a choice.
        roles: all roles except `random`.
        troubles: the faults, the gravest first.
        seconds: wall time.
        seed, backend: the same values give the same matches.
    """

    matches: int
    ended: int
    shortest: int
    longest: int
    mean_turns: float
    chance_moves: float
    roles: Mapping[str, RolePlay]
    troubles: tuple[Trouble, ...]
    seconds: float
    seed: int
    backend: str

    def to_json(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}
