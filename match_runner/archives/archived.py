"""What a file of another program tells of a match, and the record that follows from it.

Files hold moves. What every role saw, and what the match came to, follows from the rules, which are
given by whoever imports it: files name them by an address on the network, and nothing is fetched.
States and scores that a file does hold are compared, so that a match is never imported with the
rules of another game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ggp.errors import GDLError, MatchError
from ggp.gdl import Compound, Term, parse_term, to_kif
from ggp.gdl.program import RANDOM, TRUE
from ggp.gdl.syntax.names import spelled
from ggp.gdl.syntax.tuples import UNNAMED
from ggp.gdl.terms import signature
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.machine.definition import GameDefinition
from ggp.protocol.messages import Dialect
from match_runner.match.records import Fault, MatchRecord, TurnRecord
from match_runner.remote.wire import RemoteSide

UNKNOWN_PLAYER = "unknown"
"""Who played, where a file does not say it."""

Lost = Mapping[int, tuple[str, str | None]]
"""By place of the role: the kind of fault, one of `FAULTS`, that cost it its move, and the move
that it asked for."""


@dataclass(frozen=True, slots=True)
class Archived:
    """What a file tells of a match. Terms are as they are written there.

    Attributes:
        match_id: the id of the match.
        game: the address or name of the game, as the file gives it; empty if it does not.
        roles: in the order of moves; None where that is the order of the rules.
        players: names, in the order of roles, with or without one for `random`; empty if unknown.
        moves: the moves of every role, turn by turn.
        states: the states that are told, by the number of turns before them.
        scores: of every role; None if the match has none.
        lost: moves that were lost, by turn.
        times_s: seconds since 1970 at which states were reached; empty if not known.
        start_clock_s, play_clock_s: None where there was none, or it is not known.
        scrambled: whether players were sent other names.
        unfinished: why the match ended before the game was over; None if it did not.
    """

    match_id: str
    game: str
    roles: Sequence[str] | None
    players: Sequence[str]
    moves: Sequence[Sequence[str]]
    states: Mapping[int, Sequence[str]]
    scores: Sequence[float] | None
    lost: Mapping[int, Lost]
    times_s: Sequence[float]
    start_clock_s: float | None
    play_clock_s: float | None
    scrambled: bool
    unfinished: str | None


def record_of(
    archived: Archived, game: str, program: GameDefinition, machine: Machine | None = None
) -> MatchRecord:
    """The record of a match, played again by the rules.

    Args:
        game: name or path of the rules, as it was given.
        program: the rules.
        machine: a machine of these rules; None to build one.

    Raises:
        MatchError: the match does not fit the rules; names the first turn that does not.
        MachineError: the rules cannot be played.
    """
    machine = machine or build_machine(program)
    order = _order(archived, machine)
    state = machine.initial()
    _compare(archived, 0, machine, state)
    turns = []
    for number, told in enumerate(archived.moves):
        try:
            turn, state = _turn(archived, number, [told[place] for place in order], machine, state)
            _compare(archived, number + 1, machine, state)
        except (MatchError, IndexError) as error:
            reason = error if isinstance(error, MatchError) else "it lacks the move of a role"
            raise MatchError(f"turn {number + 1}: {reason}") from error
        turns.append(turn)
    goals = _goals(archived, order, machine, state)
    players = _players(archived, order, machine)
    return MatchRecord(
        game=game,
        digest=program.digest,
        backend=machine.backend,
        seed=0,
        play_clock_s=archived.play_clock_s,
        roles=machine.roles,
        players=players,
        turns=tuple(turns),
        goals=goals,
        states_visited=dict.fromkeys(machine.roles, 0),
        error=archived.unfinished,
        remote=RemoteSide(
            archived.match_id,
            Dialect.GDL2 if program.as_program().is_gdl2 else Dialect.GDL,
            archived.start_clock_s or 0.0,
            archived.scrambled,
        ),
        times_s=tuple(archived.times_s) if len(archived.times_s) == len(turns) + 1 else (),
        rules=program.source.text,
    )


def _order(archived: Archived, machine: Machine) -> list[int]:
    """Where each role of the rules stands among the moves of a turn."""
    if archived.roles is None:
        return list(range(len(machine.roles)))
    told = [role.strip().lower() for role in archived.roles]
    if sorted(told) != sorted(machine.roles):
        raise MatchError(
            f"the rules have the roles {', '.join(machine.roles)}, the match {', '.join(told)}: "
            "these are the rules of another game"
        )
    return [told.index(role) for role in machine.roles]


def _turn(
    archived: Archived, number: int, told: Sequence[str], machine: Machine, state: States
) -> tuple[TurnRecord, States]:
    if machine.terminal(state)[0]:
        raise MatchError("the game is over before it")
    joint = []
    for role, (name, text) in enumerate(zip(machine.roles, told, strict=True)):
        legal = machine.legal(state, role)[0]
        move = {_unnamed(machine.move_text(id_)): id_ for id_ in legal}.get(canonical(text))
        if move is None:
            raise MatchError(f"{text} is not legal for {name}")
        joint.append(move)
    moves = dict(zip(machine.roles, map(machine.move_text, joint), strict=True))
    stepped = machine.step(state, np.array([joint], dtype=np.int64))
    seen = map(machine.percept_texts, stepped.percepts[0].tolist())
    lost = archived.lost.get(number, {})
    submitted: dict[str, str | None] = {
        role: move for role, move in moves.items() if role != RANDOM
    }
    faults = []
    for place, (kind, asked) in sorted(lost.items()):
        loser = (archived.roles or machine.roles)[place].strip().lower()
        if loser in submitted:
            submitted[loser] = None if asked is None else canonical(asked)
            faults.append(Fault(number, loser, kind, f"{asked or 'no move'}, says the archive"))
    percepts = dict(zip(machine.roles, seen, strict=True))
    return TurnRecord(moves, submitted, percepts, {}, tuple(faults)), stepped.states


def _compare(archived: Archived, number: int, machine: Machine, state: States) -> None:
    """Compare a state with that of the file, if it tells it."""
    told = archived.states.get(number)
    if told is None:
        return
    known, own = set(map(canonical, told)), set(map(_unnamed, machine.fluents(state)[0]))
    for fluent, place in ((known - own, "the file"), (own - known, "the rules")):
        if fluent:
            raise MatchError(
                f"{min(fluent)} holds by {place} only: these may be the rules of another game, or "
                "another version of them"
            )


def _goals(
    archived: Archived, order: Sequence[int], machine: Machine, state: States
) -> dict[str, float | None]:
    if not machine.terminal(state)[0]:
        if archived.unfinished is None:
            raise MatchError(f"the game is not over after turn {len(archived.moves)}")
        return dict.fromkeys(machine.roles)
    found = dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))
    for role, place in zip(machine.roles, order, strict=True):
        told = archived.scores[place] if archived.scores and place < len(archived.scores) else None
        if told is not None and told != found[role]:
            raise MatchError(f"the rules give {role} {found[role]:g} points, the file {told:g}")
    return dict(found)


def _players(archived: Archived, order: Sequence[int], machine: Machine) -> dict[str, str]:
    names = list(archived.players)
    roles = [(role, place) for role, place in zip(machine.roles, order, strict=True)]
    if len(names) == len(roles) - 1:  # nobody is named for chance
        chance = next((place for role, place in roles if role == RANDOM), len(names))
        names.insert(chance, RANDOM)
    return {
        role: (names[place].strip() if place < len(names) else "") or UNKNOWN_PLAYER
        for role, place in roles
        if role != RANDOM
    }


def finite(told: str | float) -> float | None:
    """A number of a file; None if it is none, or not finite."""
    try:
        found = float(told)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def clock_of(told_s: float) -> float | None:
    """A clock in seconds; files say with one that is not above 0 that there was none."""
    return told_s if told_s > 0 else None


def canonical(text: str) -> str:
    """A term of a file as canonical KIF, without `true` around a fluent.

    Raises:
        MatchError: it is no term.
    """
    try:
        term: Term = parse_term(text)
    except GDLError as error:
        raise MatchError(f"{text[:60]!r} is not a term") from error
    if isinstance(term, Compound) and signature(term) == TRUE:
        term = term.args[0]
    return _unnamed(to_kif(term))


def _unnamed(text: str) -> str:
    """Canonical KIF without the name that tuples have there, since files may lack it."""
    return spelled(text, UNNAMED)
