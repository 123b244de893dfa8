"""Work that a start does not wait for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ggp.machine.compiling.kernel_files import PACKAGE_FOLDER
from tests.support.games import REPOSITORY

FACTS = """
import sys
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling import jit

machine = build_machine(load("tic_tac_toe"), "propnet")
start = machine.initial(1)
machine.legal(start, 0), machine.terminal(start), machine.goals(start), machine.fluents(start)
print(*{"numba", "llvmlite", "ggp.machine.propnet.optimise"} & set(sys.modules))
"""

PLAYOUT = """
import sys
import numpy as np

class Watch:
    # Asked about every import: which modules may nobody import just now?
    @classmethod
    def find_spec(cls, *_):
        closed.update(name for name, module in list(sys.modules.items()) if module is None)

closed = set()
sys.meta_path.insert(0, Watch)
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling import jit

machine = build_machine(load("tic_tac_toe"), "propnet")
machine.playout(machine.initial(1), np.random.default_rng(1), 10)
print(*{"scipy.linalg", "numba.typed.typedlist", "clingo"} & set(sys.modules))
print(*closed)
print(*(each.__name__ for each in jit._kernels if each._compiled))
"""


DECISION = """
import numpy as np
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling import jit
from ggp.players import make_player, parse_spec

machine = build_machine(load("krieg_tic_tac_toe"), "propnet")
player = make_player(parse_spec("hyperplay:n=2"), machine, 0, np.random.default_rng(1))
assert player.choose().values
print(*(each.__name__ for each in jit._kernels if each._compiled))
"""


FIRST_DECISION = """
import sys
import numpy as np
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.players import make_player, parse_spec

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name not in ("<module>", "__annotate__"):
        run.add(frame.f_globals.get("__name__", ""))

run = set()
machine = build_machine(load("krieg_tic_tac_toe"), "propnet")
player = make_player(parse_spec("hyperplay2:n=2"), machine, 0, np.random.default_rng(1))
sys.setprofile(note)
player.choose()
sys.setprofile(None)
print(*sorted(name for name in run if name.startswith("ggp.")))
"""

MAX_MODULES = 50
"""Of ours that run in a first decision: who follows one in a debugger has to know as many."""


def second_output(program: str) -> str:
    """The output of a program that need not compile: `make setup` has, or the first run does."""
    for _ in range(1 if (PACKAGE_FOLDER / "complete").exists() else 2):
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    return run.stdout


@pytest.mark.verify
def test_facts_of_a_game_seen_before_need_no_compiler() -> None:
    assert second_output(FACTS) == "\n"


@pytest.mark.verify
def test_second_start_loads_what_is_needed_and_nothing_that_only_compiling_needs() -> None:
    assert second_output(PLAYOUT) == "\n\nplay\n"  # and meanwhile others may import anything


def test_first_decision_needs_no_kernel_but_that_of_playouts() -> None:
    assert second_output(DECISION) == "play\n"


@pytest.mark.parametrize("program", ["ggp", "match_runner"])
def test_help_imports_no_numpy(program: str) -> None:
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", program, "--help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Commands:" in run.stdout
    assert "numpy" not in run.stderr


def test_a_first_decision_runs_through_few_modules() -> None:
    modules = second_output(FIRST_DECISION).split()
    assert "ggp.search.simulations" in modules
    assert len(modules) <= MAX_MODULES, modules


@pytest.mark.parametrize("module", ["ggp.solve", "ggp.labs.learning.learnt_values"])
def test_solving_and_learning_import_no_scipy_before_it_is_used(module: str) -> None:
    """It takes most of a second, of start clocks that may be as long."""
    program = f"import sys, {module}; print(*(each for each in sys.modules if 'scipy' in each))"
    assert second_output(program) == "\n"
