"""The child of `benchmarks.loading`: CPU seconds from one rulesheet to a circuit, by phase.

It measures one sheet and ends, so that nothing is loaded or cached before. Other versions of the
project are measured by it as well.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

gc.disable()  # as where circuits are made


class Phases:
    """CPU seconds by phase; what runs inside of another phase counts only for itself."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner_s = [0.0]

    def run(self, phase: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The value of a function; its seconds are added to a phase."""
        self._inner_s.append(0.0)
        start_s = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            took_s = time.process_time() - start_s
            own_s = took_s - self._inner_s.pop()
            self._inner_s[-1] += took_s
            self.seconds[phase] = self.seconds.get(phase, 0.0) + own_s

    def watch(self, module: Any, name: str, phase: str) -> None:
        """Put calls of a function of a module down to a phase."""
        function = getattr(module, name)
        setattr(module, name, lambda *a, **k: self.run(phase, function, *a, **k))


def measure_phases(path: str) -> dict[str, Any]:
    """CPU seconds by phase, what each pass saved, and the size of the circuit."""
    phases = Phases()
    normalize, grounding, gates, optimise, files, machines = phases.run("import", _imported)
    phases.watch(grounding, "split_rules", "split")
    phases.watch(grounding, "translate", "translate")
    phases.watch(grounding, "simplify", "simplify")
    program = phases.run("read", normalize.load, path)
    ground = phases.run("ground", grounding.ground, program)
    draft = phases.run("build", gates.build_circuit, ground)
    optimised = phases.run("passes", optimise.optimise, draft)
    stored = files.Built(optimised.circuit, optimised.reports, optimised.complete, 1, 60.0)
    data = phases.run("bytes", files.to_bytes, stored, "key")
    circuit = phases.run("bytes", files.from_bytes, data, "key").circuit
    phases.run("layout", _laid_out, machines, circuit, program.is_gdl2)
    return {
        "cpu_s": time.process_time(),
        "phases": phases.seconds,
        "passes": [
            (report.name, report.literals_before - report.literals_after, report.seconds)
            for report in optimised.reports
        ],
        "built_literals": draft.num_literals,
        "literals": circuit.num_literals,
        "gates": circuit.num_gates,
    }


def _imported() -> tuple[Any, ...]:
    from ggp.gdl import normalize
    from ggp.machine.propnet import optimise
    from ggp.machine.propnet.compile import circuit_file, gates
    from ggp.machine.propnet.compile.ground_rules import grounding
    from ggp.machine.propnet.play import propnet_machine

    return normalize, grounding, gates, optimise, circuit_file, propnet_machine


def _laid_out(machines: Any, circuit: Any, is_gdl2: bool) -> None:
    machines.PropnetMachine(circuit, is_gdl2=is_gdl2).lay_out()


def main(path: str) -> None:
    """Print the measurements of a rulesheet as JSON."""
    print(json.dumps(measure_phases(path)))
