"""The child of `benchmarks.ablation`: one rulesheet with everything, and without some parts.

Circuits are made from the same ground rules in one process, and played in turns.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np

from ggp.gdl.normalize import load
from ggp.machine.propnet import optimise
from ggp.machine.propnet.build.gates import build_circuit
from ggp.machine.propnet.build.ground_rules.ground_program import GroundProgram
from ggp.machine.propnet.build.ground_rules.grounding import ground
from ggp.machine.propnet.play.layout import fusing, phases
from ggp.machine.propnet.play.parted_machine import machine_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine

ALL = "all"
"""The variant without which nothing is left out."""

LANES, MAX_STEPS = 4096, 100

TRICKS: dict[str, tuple[Any, str, Any]] = {
    "phases": (phases, "MIN_LITERALS", math.inf),
    "reach": (phases, "reachable", lambda circuit: np.zeros((0, 2, len(circuit.fluents)), bool)),
    "openings": (phases, "openings", lambda circuit: []),
    "fusing": (fusing, "INSIDE", -1),
}
"""What is left out by changing a name of a module; all others are passes."""

PARTS = (*dict.fromkeys(name for name, _ in optimise.PASSES), *TRICKS)
"""What can be left out."""


def measure(path: str, variants: list[str], seconds: float, rounds: int) -> dict[str, Any]:
    """`{variant: {build_s, literals, states_per_s}}` of a rulesheet.

    Args:
        path: of the rulesheet.
        variants: what is left out, several parts joined with `+`.
        seconds: of playouts in a round.
        rounds: of playouts; their median counts.
    """
    program = load(path)
    rules = ground(program)
    made: dict[str, dict[str, float]] = {}
    built: dict[str, PropnetMachine] = {}
    for name in (ALL, *variants, *reversed(variants), ALL):
        built[name], build_s = _built(rules, name.split("+"), program.is_gdl2)
        if name in made:  # whoever was first had to warm up
            build_s = min(build_s, made[name]["build_s"])
        made[name] = {"build_s": build_s, "literals": built[name].circuit.num_literals}
    speeds: dict[str, list[float]] = {name: [] for name in built}
    for number in range(rounds):
        for name, machine in built.items():
            rng = np.random.default_rng(number)
            speeds[name].append(_states_per_s(machine, seconds, rng))
    for name, found in speeds.items():
        made[name]["states_per_s"] = median(found)
    return made


def _built(rules: GroundProgram, parts: list[str], is_gdl2: bool) -> tuple[PropnetMachine, float]:
    """A machine made without some parts, and CPU seconds from gates until it can be played."""
    with _without(parts):
        gc.collect()
        start_s = time.process_time()
        circuit = optimise.optimise(build_circuit(rules)).circuit
        machine = machine_of(circuit, is_gdl2=is_gdl2)
        machine.lay_out()
        took_s = time.process_time() - start_s
        machine.warm_up()
    return machine, took_s


@contextmanager
def _without(parts: list[str]) -> Iterator[None]:
    changes: list[tuple[Any, str, Any]] = [TRICKS[part] for part in parts if part in TRICKS]
    left = tuple((name, run) for name, run in optimise.PASSES if name not in parts)
    changes.append((optimise, "PASSES", left))
    before = [getattr(module, name) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(changes, before, strict=True):
            setattr(module, name, value)


def _states_per_s(machine: PropnetMachine, seconds: float, rng: np.random.Generator) -> float:
    """States a CPU second of playouts from the initial state."""
    steps, spent = 0.0, 0.0
    while spent < seconds:
        start_s = time.process_time()
        steps += float(machine.playout(machine.initial(LANES), rng, MAX_STEPS).steps.sum())
        spent += time.process_time() - start_s
    return steps / spent


def main(path: str, variants: str, seconds: str, rounds: str) -> None:
    """Print the row of a rulesheet as JSON."""
    print(json.dumps(measure(path, variants.split(","), float(seconds), int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
