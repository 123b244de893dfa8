"""What a start does not wait for."""

from __future__ import annotations

import subprocess
import sys

START = """
import sys
import numpy as np
from ggp.gdl.normalize import load
from ggp.machine import build_machine

machine = build_machine(load("tic_tac_toe"), "propnet")
machine.playout(machine.initial(1), np.random.default_rng(1), 10)
print(*{"scipy.linalg", "numba.typed.typedlist", "clingo"} & set(sys.modules))
"""


def test_a_second_start_imports_nothing_that_only_compiling_needs() -> None:
    for _ in range(2):  # the first may have to compile
        run = subprocess.run(
            [sys.executable, "-c", START], capture_output=True, text=True, timeout=300, check=True
        )
    assert run.stdout == "\n"
