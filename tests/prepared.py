"""What many tests need and takes long to make: made once, before they run.

`make test` runs this beside the lint, which keeps one processor busy: Python's translation of the
modules of tests, and circuits of our games. Every process that shares the tests would make the
first anew, and wait for whoever makes the others. Circuits are kept with pytest's own cache, under
names that hold the version of the code that made them. Tests that run without all this make what
they need. Machine code of kernels is made by `make setup`.

    python -m tests.prepared
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.games import GAMES, REPOSITORY, machine_of_game

CIRCUITS = REPOSITORY / ".pytest_cache" / "circuits"


def main() -> None:
    """Make everything that is not there, the translation beside all else."""
    translation = translate()
    os.environ["GGP_CACHE_DIR"] = str(CIRCUITS)
    for game in GAMES:
        machine_of_game(game, "propnet")
    translation.wait()


def translate() -> subprocess.Popen[bytes]:
    """Begin pytest's own translation of the modules of tests, also where Python is to keep none."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
