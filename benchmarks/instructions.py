"""`python -m benchmarks.instructions`: the machine instructions of the inner loop."""

from __future__ import annotations

import re
from collections import Counter

import click
import numpy as np

from benchmarks.tables.profile import repeat_tape
from ggp.console import print_rich
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.compiling.jit import load_compiler
from ggp.machine.compiling.vectors import WIDTH, words_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.report import Table

_LOGIC = re.compile(r"^\s+(v?p?(?:and|or|xor|ternlog)\w*)\s+(.*)$")


def count_instructions() -> Counter[str]:
    """Logical instructions of the compiled `run_tape`, by the registers they work on."""
    machine = build_machine(load("tic_tac_toe"), "propnet")
    assert isinstance(machine, PropnetMachine)
    plan = machine.playout_plan
    rows = np.zeros(plan.num_rows * words_of(WIDTH), dtype=np.uint64)
    load_compiler()
    from ggp.machine.compiling.kernel_compiler import compiled as compiled_by_numba

    # Not from a file, whose machine code cannot be looked at.
    compiled = compiled_by_numba(repeat_tape)
    compiled(plan.look, rows, 1, WIDTH)
    counts: Counter[str] = Counter()
    for line in compiled.inspect_asm(compiled.signatures[0]).splitlines():
        match = _LOGIC.match(line)
        if match:
            kinds = [kind for kind in ("zmm", "ymm", "xmm") if kind in match[2]]
            counts[f"{kinds[0]} (packed)" if kinds else "general (one word)"] += 1
    return counts


@click.command()
def main() -> None:
    """Count logical instructions by kind of register."""
    rows = [[kind, str(count)] for kind, count in count_instructions().most_common()]
    print_rich(Table(["registers", "#logical instructions"], rows))


if __name__ == "__main__":
    main()
