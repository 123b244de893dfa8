"""The child of `benchmarks.ablation`: one rulesheet with everything, and without some parts.

Circuits are made from the same ground rules in one process, and played in turns.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.apart.ablation_parts import changes_circuit, left_out
from ggp.gdl.normalize import load
from ggp.machine.circuit import Circuit
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.compile.ground_rules.simplify import GroundProgram
from ggp.machine.propnet.optimise import optimise
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

ALL = "all"
"""The variant without which nothing is left out."""

LANES, MAX_STEPS = 4096, 100


def measure(
    path: str, variants: list[str], part: str, seconds: float, rounds: int, builds: int
) -> dict[str, Any]:
    """`{variant: {build_s, literals, states_per_s}}` of a rulesheet.

    Args:
        path: of the rulesheet.
        variants: what is left out, several parts joined with `+`.
        apart: what is left out of all of these, see `ablation_parts.APART`.
        seconds: of playouts in a round.
        rounds: of playouts; their median counts.
        builds: how often each is built at least; the quickest counts. Those from which nothing is
            left out are built before and after the others.
    """
    with left_out(part.split("+")):
        program = load(path)
        start_s = time.process_time()
        rules = ground(program)
        ground_s = time.process_time() - start_s
        machines: dict[str, PropnetMachine] = {}
        spent: dict[str, list[_Spent]] = {}
        for name in (ALL, *[*variants, ALL] * builds):
            parts = name.split("+")
            circuit = None if name == ALL or changes_circuit(parts) else machines[ALL].circuit
            machines[name], took = _build_machine(rules, parts, program.is_gdl2, circuit)
            spent.setdefault(name, []).append(took)
        # Who plays alike is played once.
        first_alike = {name: _first_alike(machines, name) for name in machines}
        speeds: dict[str, list[float]] = {
            name: [] for name in machines if first_alike[name] == name
        }
        for number in range(rounds):
            for name in speeds:
                rng = np.random.default_rng(number)
                speeds[name].append(_states_per_s(machines[name], seconds, rng))
    # The least of several times: whoever was first had to warm up.
    whole_s = min(spent_here.circuit_s for spent_here in spent[ALL])
    return {
        name: {
            "build_s": ground_s
            + min(spent_here.circuit_s or whole_s for spent_here in spent[name])
            + min(spent_here.layout_s for spent_here in spent[name]),
            "literals": machine.circuit.num_literals,
            "states_per_s": median(speeds[first_alike[name]]),
        }
        for name, machine in machines.items()
    }


class _Spent(NamedTuple):
    """CPU seconds for a circuit, 0 if there was one, and from there until it could be played."""

    circuit_s: float
    layout_s: float


def _build_machine(
    rules: GroundProgram, parts: list[str], is_gdl2: bool, circuit: Circuit | None
) -> tuple[PropnetMachine, _Spent]:
    """A machine made without some parts. `circuit`: of which it is made, if there is one."""
    with left_out(parts):
        gc.collect()
        start_s = time.process_time()
        if circuit is None:
            circuit = optimise(build_circuit(rules)).circuit
            circuit_s = time.process_time() - start_s
        else:
            circuit_s = 0.0
        start_s = time.process_time()
        machine = PropnetMachine(circuit, is_gdl2=is_gdl2)
        machine.lay_out()
        layout_s = time.process_time() - start_s
        machine.warm_up()
    return machine, _Spent(circuit_s, layout_s)


def _first_alike(machines: Mapping[str, PropnetMachine], name: str) -> str:
    """The first machine that evaluates exactly the same in playouts."""
    plan = machines[name].playout_plan
    return next(name for name in machines if _are_equal(machines[name].playout_plan, plan))


def _are_equal(first: Any, second: Any) -> bool:
    if isinstance(first, tuple):
        return all(map(_are_equal, first, second))
    return first is second or np.array_equal(first, second)


def _states_per_s(machine: PropnetMachine, seconds: float, rng: np.random.Generator) -> float:
    """States a CPU second of playouts from the initial state."""
    steps, spent = 0.0, 0.0
    while spent < seconds:
        start_s = time.process_time()
        steps += float(machine.playout(machine.initial(LANES), rng, MAX_STEPS).steps.sum())
        spent += time.process_time() - start_s
    return steps / spent


def main(path: str, variants: str, part: str, seconds: str, rounds: str, builds: str) -> None:
    """Print the row of a rulesheet as JSON."""
    names = [name for name in variants.split(",") if name]
    print(json.dumps(measure(path, names, part, float(seconds), int(rounds), int(builds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
