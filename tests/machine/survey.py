"""Which rulesheets can be ground, at what cost, and whether they then agree with Prolog.

    python -m tests.machine.survey FOLDER_OR_FILE... [--matches 2] [--steps 8]

A line for each rulesheet: processor seconds and memory of the child that makes the circuit, the
circuit's size, and how many random joint moves both machines agreed on. Circuits in the cache cost
nothing: for costs, set GGP_CACHE_DIR to an empty folder.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

from ggp.errors import GGPError
from ggp.gdl.normalize import load
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.support.comparing.agreement import play_both
from tests.support.games import rulesheets_in

HEADER = (
    "| rulesheet | processor s | memory, GB | gates | literals | moves compared |\n|" + "---|" * 6
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.machine.survey")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--matches", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=Limits().grounding_seconds)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(_row(options.paths[0], options.matches, options.steps, options.seconds), flush=True)
        return
    print(HEADER, flush=True)
    numbers = [f"--{n}={getattr(options, n)}" for n in ("matches", "steps", "seconds")]
    for path in (file for folder in options.paths for file in rulesheets_in(folder)):
        # In a process of its own: the largest child of a process is all that the system counts.
        command = [sys.executable, "-m", "tests.machine.survey", str(path), *numbers, "--one"]
        if subprocess.run(command, check=False).returncode:
            print(f"| {path.stem} | | | | | crashed |", flush=True)


def _row(path: Path, matches: int, steps: int, seconds: float) -> str:
    program = load(str(path))
    try:
        limits = Limits(grounding_seconds=seconds, grounding_wait_seconds=86_400)
        propnet = build_machine(program, "propnet", limits)
    except GGPError as error:
        return f"| {path.stem} | {_cost()} | | | {error} |"
    assert isinstance(propnet, PropnetMachine)
    circuit = propnet.circuit
    cost = f"{_cost()} | {circuit.num_gates:,} | {circuit.num_literals:,}"
    prolog = build_machine(program, "prolog")
    return f"| {path.stem} | {cost} | {_compared(prolog, propnet, matches, steps)} |"


def _cost() -> str:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return f"{usage.ru_utime + usage.ru_stime:.1f} | {usage.ru_maxrss / 1e6:.2f}"


def _compared(prolog: Machine, propnet: Machine, matches: int, steps: int) -> str:
    try:
        return str(play_both(prolog, propnet, matches=matches, max_steps=steps))
    except GGPError as error:
        return str(error)
    except AssertionError:
        return "DIFFER"


if __name__ == "__main__":
    main()
