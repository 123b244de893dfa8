"""Tasks for child processes that behave, and that do not."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.gdl.program import Program
from ggp.machine.propnet.compile.ground_rules.grounding import ground


def grounded(program: Program) -> bytes:
    """The ground program, pickled."""
    return pickle.dumps(ground(program))


def echo(argument: object) -> bytes:
    """The argument, pickled."""
    return pickle.dumps(argument)


def noise(argument: bytes) -> bytes:
    """The argument, after much has been printed by Python, C and a process."""
    print("x" * 100_000)
    print("y" * 100_000, file=sys.stderr)
    os.write(1, b"z" * 100_000)
    ctypes.CDLL(None).puts(b"printed by C")
    subprocess.run(["echo", "printed by another process"], check=True)
    return argument


def environment(_: object) -> bytes:
    """The child's view of its environment."""
    seen = {
        "path": sys.path,
        "threads": os.environ["OPENBLAS_NUM_THREADS"],
        "input": sys.stdin.read(),
        "modules": sorted(sys.modules),
    }
    return pickle.dumps(seen)


def sleep(path: str | None) -> bytes:
    """Nothing, after a minute; writes its process id to a file."""
    if path is not None:
        Path(path).write_text(str(os.getpid()))
    time.sleep(60)
    return b""


def nap(seconds: float) -> bytes:
    """That it is over, after some seconds in which nothing is done."""
    time.sleep(seconds)
    return b"rested"


def spin(_: object) -> bytes:
    """Nothing, and stops no sooner when asked politely."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pass


def hoard(_: object) -> bytes:
    """Nothing, for all memory there is."""
    blocks = []
    while True:
        blocks.append(bytearray(1 << 24))


def die(number: int) -> bytes:
    """Nothing, killed by a signal."""
    os.kill(os.getpid(), number)
    time.sleep(60)
    return b""


def leave(status: int) -> bytes:
    """Nothing, but this exit status."""
    print("last words", file=sys.stderr, flush=True)
    os._exit(status)


def fail(kind: str) -> bytes:
    """Nothing, but an error."""
    raise {
        "machine": MachineError("the rules are odd"),
        "limit": ReasonerLimitError("functions in one term", 12.0, "grounding"),
        "unavailable": BackendUnavailableError("clingo", "install it"),
        "module": ModuleNotFoundError("No module named 'ggp.gone'", name="ggp.gone"),
        "bug": ZeroDivisionError("division by zero"),
        "exit": SystemExit(3),
    }[kind]
