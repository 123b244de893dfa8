"""Writes a game as a module of JAX: a docstring, the tables of its circuit, and fixed functions.

`jax_module` takes a game whose machine is a circuit, and returns the text of the module. The
functions are copied from `jax_template`. Rule: text from a rulesheet enters the module only as
Python string literals; so a rulesheet from a stranger cannot add code.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.labs.learning.env.engine import in_order
from ggp.machine.base import Machine, player_roles
from ggp.machine.circuit import TRUE, Circuit, Literals, cone, net_levels
from ggp.machine.definition import GameDefinition
from ggp.machine.goal_values import number_or_nan
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.names import Names, names_of

_TEMPLATE = Path(__file__).with_name("jax_template.py")

_GAME, _FUNCTIONS = "# --- the game ---\n", "# --- its functions ---\n"
"""Lines that delimit the tables of a game in the template."""


def jax_module(program: GameDefinition, machine: Machine) -> str:
    """The text of a module that plays a game in JAX; it imports only jax and numpy.

    Raises:
        MachineError: the game has no circuit, its circuit has loops, or chance makes moves that are
            not listed.
    """
    if not on_circuit(machine):
        raise MachineError(f"{program.source.name} has no circuit to write as a module")
    if machine.circuit.loops:
        raise MachineError(
            f"{program.source.name} has gates that depend on each other; a module of JAX needs a "
            "circuit without loops"
        )
    head, _, rest = _TEMPLATE.read_text(encoding="utf-8").partition(_GAME)
    functions = rest.partition(_FUNCTIONS)[2]
    name = Path(program.source.name).name
    words = {"GAME": _plain(name), "RULES": _plain(name), "DIGEST": program.digest}
    head = re.sub(r"\b(GAME|RULES|DIGEST)\b", lambda match: words[match[0]], head)
    return head + "\n".join(_tables(machine, names_of(program, machine))) + "\n" + functions


def _tables(machine: PropnetMachine, names: Names) -> Iterable[str]:
    """The lines between the docstring and the functions."""
    circuit = machine.circuit
    players = player_roles(machine)
    legal = [in_order(circuit.legal[role], names.moves) for role in players]
    by_chance = np.zeros(0, dtype=np.int32)
    if machine.random_role is not None:
        by_chance = in_order(circuit.legal[machine.random_role], names.chance)
    terminal = np.array([circuit.terminal], dtype=np.int32)
    goals = [circuit.goals[role].literals for role in players]
    look = layered(circuit, [terminal, by_chance, *legal, *goals])
    sees = [in_order(circuit.sees[role], names.percepts) for role in players]
    step = layered(circuit, [circuit.next, *sees])
    for title, texts in (
        *(("ROLES", names.roles), ("MOVES", names.moves), ("CHANCE", names.chance)),
        *(("PERCEPTS", names.percepts), ("FLUENTS", names.fluents)),
    ):
        yield f"{title}: tuple[str, ...] = {_strings(texts)}"
    yield f"INITIAL = np.array({_numbers(circuit.initial.astype(int))}, dtype=bool)"
    places = [_move_places(machine, role, names.moves) for role in players]
    yield f"MOVE_PLACES = {_array(np.array(places))}"
    chance_places = np.zeros(0, dtype=np.int64)
    if machine.random_role is not None:
        chance_places = _move_places(machine, machine.random_role, names.chance)
    yield f"CHANCE_PLACES = {_array(chance_places)}"
    move_percepts = names.told_of_moves() if names.is_plain else np.full((len(players), 1), -1)
    yield f"TOLD = {_array(move_percepts)}"
    for title, part in (("LOOK", look), ("STEP", step)):
        yield f"{title}_PLACES = {part.num_places}"
        yield f"{title}: tuple[tuple[int, np.ndarray], ...] = ("
        yield from _groups(part)
        yield ")"
    outputs = look.outputs
    yield f"TERMINAL = {_array(outputs[0])}"
    yield f"LEGAL_CHANCE = {_array(outputs[1])}"
    yield _arrays("LEGAL", outputs[2 : 2 + len(players)])
    yield _arrays("GOALS", outputs[2 + len(players) :])
    values = [
        np.nan_to_num(np.array([number_or_nan(text) for text in circuit.goals[role].names]))
        for role in players
    ]
    yield _arrays("GOAL_VALUES", values)
    yield f"NEXT = {_array(step.outputs[0])}"
    yield _arrays("SEES", step.outputs[1:])


def _move_places(machine: PropnetMachine, role: int, texts: tuple[str, ...]) -> NDArray[np.int64]:
    """The input of each move of a role, -1 for moves that it never has."""
    circuit = machine.circuit
    first = 1 + len(circuit.fluents) + sum(len(moves.names) for moves in circuit.legal[:role])
    input_of = {text: first + k for k, text in enumerate(circuit.legal[role].names)}
    return np.array([input_of.get(text, -1) for text in texts], dtype=np.int64)


def _groups(part: Layered) -> Iterable[str]:
    for group in part.groups:
        yield f"    ({group.start}, {_array(group.literals)}),"


def _arrays(title: str, arrays: Iterable[NDArray[np.generic]]) -> str:
    inner = "".join(f"\n    {_array(array)}," for array in arrays)
    return f"{title}: tuple[np.ndarray, ...] = ({inner}\n)"


def _array(numbers: NDArray[np.generic]) -> str:
    """An array as a call of numpy."""
    kind = "float32" if numbers.dtype.kind == "f" else "int32"
    shape = "" if numbers.ndim == 1 else f".reshape{numbers.shape}"
    return f"np.array({_numbers(numbers.ravel())}, dtype=np.{kind}){shape}"


def _numbers(numbers: NDArray[np.generic]) -> str:
    text = ", ".join(map(str, numbers.tolist()))
    return "[" + "\n".join(textwrap.wrap(text, 96, break_long_words=False)) + "]"


def _strings(texts: Iterable[str]) -> str:
    inner = "".join(f"\n    {text!r}," for text in texts)
    return f"({inner}\n)" if inner else "()"


def _plain(text: str) -> str:
    """The text, with every character replaced that could end a docstring."""
    return "".join(c if c.isalnum() or c in " ._-+" else "_" for c in text)


# ------------------------------------------------------------------------
# Gates in layers: the gates of a layer depend only on earlier layers.
#
# The gates of a layer with similar numbers of inputs form a *group*: a table of literals, padded
# with *true*, whose rows are evaluated in one operation.


class GateGroup(NamedTuple):
    """Gates that are evaluated together.

    Attributes:
        start: place of the first gate; the others follow.
        literals: `[G, K]` inputs, `2 * place + inverted`.
    """

    start: int
    literals: NDArray[np.int32]


class Layered(NamedTuple):
    """A part of a circuit with N places: *false*, then the inputs, then the gates.

    Attributes:
        num_places: N.
        groups: the groups in the order of evaluation.
        outputs: the requested literals, as literals of places.
    """

    num_places: int
    groups: tuple[GateGroup, ...]
    outputs: tuple[NDArray[np.int32], ...]


def layered(circuit: Circuit, outputs: Sequence[Literals]) -> Layered:
    """The gates on which some literals depend, in layers; the circuit must not have loops.

    Args:
        outputs: lists of literals.
    """
    base = 1 + circuit.num_inputs
    together = np.concatenate([np.asarray(roots, dtype=np.int32) for roots in outputs])
    gate_ids = np.flatnonzero(cone(circuit, together)[base:]).tolist()
    offsets, literals = circuit.offsets.tolist(), circuit.literals.tolist()
    depth = net_levels(circuit)
    members: dict[tuple[int, int], list[int]] = {}
    for gate in gate_ids:
        inputs = literals[offsets[gate] : offsets[gate + 1]]
        # The inputs of a group's gates differ by a factor below 2: less than half is padding.
        size = (len(inputs) - 1).bit_length()
        members.setdefault((depth[base + gate], size), []).append(gate)
    place_of = np.full(base + circuit.num_gates, -1, dtype=np.int64)
    place_of[:base] = np.arange(base)
    num_places = base
    order = sorted(members)
    for key in order:
        for gate in members[key]:
            place_of[base + gate] = num_places
            num_places += 1
    groups = []
    for key in order:
        gates = members[key]
        rows = [literals[offsets[gate] : offsets[gate + 1]] for gate in gates]
        table = np.full((len(gates), max(map(len, rows))), TRUE, dtype=np.int32)
        for k, row in enumerate(rows):
            table[k, : len(row)] = _placed(np.array(row, dtype=np.int32), place_of)
        groups.append(GateGroup(int(place_of[base + gates[0]]), table))
    tables = tuple(_placed(np.asarray(roots), place_of) for roots in outputs)
    return Layered(num_places, tuple(groups), tables)


def _placed(literals: Literals, place_of: NDArray[np.int64]) -> NDArray[np.int32]:
    placed: NDArray[np.int32] = (2 * place_of[literals >> 1] + (literals & 1)).astype(np.int32)
    return placed
