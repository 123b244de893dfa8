"""What many tests need and takes long to make: made once, before they run.

`make test` runs this beside the lint, which keeps one processor busy: Python's translation of the
modules of tests, machine code of kernels, and circuits of our games. Every process that shares the
tests would make the first anew, and wait for whoever makes the others. Circuits are kept with
pytest's own cache, under names that hold the version of the code that made them. Tests that run
without all this make what they need.

    python -m tests.prepared
"""

from __future__ import annotations

import os
import subprocess
import sys

import ggp
from ggp.machine import build_machine
from ggp.machine.games import load_program
from tests.support.games import GAMES, REPOSITORY, machine_of_game

CIRCUITS = REPOSITORY / ".pytest_cache" / "circuits"

PLAYERS = (
    "hyperplay:n=2,states=500",
    "hyperplay2:n=2",
    "ismcts:trials=20",
    "oos:trials=20",
    "mcts:trials=20",
    "pimc:worlds=2",
)
"""Their kernels are compiled; the others have few of their own."""


def main() -> None:
    """Make everything that is not there, the translation beside all else."""
    translation = translate()
    os.environ["GGP_CACHE_DIR"] = str(CIRCUITS)
    for game in GAMES:
        machine_of_game(game, "propnet")
    compile_kernels()
    translation.wait()


def translate() -> subprocess.Popen[bytes]:
    """Begin pytest's own translation of the modules of tests, also where Python is to keep none."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL)


def compile_kernels() -> None:
    """Machine code of what most tests call: of whole matches, in which players also observe."""
    for game in ("krieg_tic_tac_toe", "tic_tac_toe"):
        build_machine(load_program(game), "propnet", ready=True)
        for spec in PLAYERS:
            ggp.play_match(game, {"xplayer": spec, "oplayer": "random"})
    build_machine(load_program("tic_tac_toe"), "relational", ready=True)


if __name__ == "__main__":
    main()
