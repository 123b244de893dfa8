"""Checking a record against the rules of its game."""

from __future__ import annotations

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.gdl.games import game_that_comes
from ggp.gdl.source import printable
from ggp.machine import Machine, build_machine
from ggp.machine.base import States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_file, load_program, read_program
from ggp.search.moves import is_legal
from match_runner.match.records import MatchRecord, TurnRecord


def rules_of(record: MatchRecord) -> GameDefinition:
    """The rules of a record: its own, or those its game has now where it holds none.

    Raises:
        ConfigError: it holds none, and there is no such game, or its game is a file.
        GDLError: the rules cannot be used.
    """
    if record.rules:
        return read_program(record.rules, record.game)
    # Whoever wrote the record says what its game is called: that is no reason to read a file.
    if game_that_comes(record.game) is None and find_file(record.game) is not None:
        raise ConfigError(
            f"the record has no rules, and its game {printable(record.game)} is a file, which is "
            "not read: put the text of the rules into its field rules"
        )
    return load_program(record.game, files=False)


def check_record(record: MatchRecord, program: GameDefinition) -> list[tuple[str, ...]]:
    """Play the moves of a record again and compare what the rules say.

    Returns:
        the fluents of the initial state and of the state after each turn, as canonical KIF.

    Raises:
        MatchError: the record differs from the rules; names the first difference and its turn.
        MachineError: the rules cannot be played.
    """
    if program.roles != record.roles:
        raise MatchError(
            f"the rules have the roles {', '.join(program.roles)}, "
            f"the record {', '.join(record.roles)}"
        )
    machine = build_machine(program)
    state = machine.initial(1)
    fluents = machine.fluents(state)
    for number, turn in enumerate(record.turns, start=1):
        try:
            state = _next(machine, state, turn)
        except MatchError as error:
            changed = "" if record.digest == program.digest else "the rules have changed since; "
            raise MatchError(f"turn {number} differs from the rules: {changed}{error}") from error
        fluents += machine.fluents(state)
    if record.error is None:
        _check_end(machine, state, record)
    return fluents


def _next(machine: Machine, state: States, turn: TurnRecord) -> States:
    if machine.terminal(state)[0]:
        raise MatchError("the game is over before it")
    moves = []
    for role, name in enumerate(machine.roles):
        text = turn.joint_move[name]
        move = machine.move_id(text)
        if move is None or not is_legal(machine, state, role, np.array([move]))[0]:
            raise MatchError(f"{text} is not legal for {name}")
        moves.append(move)
    stepped = machine.step(state, np.array([moves], dtype=np.int64))
    for role, name in enumerate(machine.roles):
        seen = machine.percept_texts(int(stepped.percepts[0, role]))
        if seen != turn.percepts[name]:
            raise MatchError(
                f"{name} sees {' '.join(seen) or 'nothing'}, "
                f"not {' '.join(turn.percepts[name]) or 'nothing'}"
            )
    return stepped.states


def _check_end(machine: Machine, state: States, record: MatchRecord) -> None:
    if not machine.terminal(state)[0]:
        raise MatchError(f"the game is not over after turn {len(record.turns)}")
    goals = dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))
    for role, goal in goals.items():
        if goal != record.goals[role]:
            recorded = record.goals[role]
            shown = "none" if recorded is None else f"{recorded:g}"
            raise MatchError(f"the rules give {role} {goal:g} points, not {shown}")
