"""The circuit section of `ggp info --verbose`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggp.console import print_rich, table_of

if TYPE_CHECKING:
    from ggp.machine import Machine


def describe_circuit(machine: Machine) -> dict[str, Any] | None:
    """Gates and literals before and after each pass, and of the cones; None without a circuit."""
    if machine.backend != "propnet":
        return None
    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    if not isinstance(machine, PropnetMachine):
        return None
    circuit = machine.circuit
    return {
        "fluents": len(circuit.fluents),
        "constant_fluents": len(circuit.constant),
        "moves": sum(len(outputs.names) for outputs in circuit.legal),
        "gates": circuit.num_gates,
        "literals": circuit.num_literals,
        "loops": len(circuit.loops),
        "cones": machine.cones(),
        "passes": [
            {**report._asdict(), "seconds": round(report.seconds, 4)} for report in machine.reports
        ],
    }


def print_circuit(circuit: dict[str, Any]) -> None:
    """Print the same as tables."""
    sizes = [(k.replace("_", " "), str(v)) for k, v in circuit.items() if isinstance(v, int)]
    print_rich(table_of(["circuit", "#number"], sizes))
    cones = [[c["name"], f"{c['gates']:,}", f"{c['literals']:,}"] for c in circuit["cones"]]
    print_rich(table_of(["evaluated together", "#gates", "#literals"], cones))
    passes = [
        [p["name"], *(f"{p[k]:,}" for k in _COUNTS), f"{p['seconds']:.3f}"]
        for p in circuit["passes"]
    ]
    titles = ["pass", "#gates", "#after", "#literals", "#after", "#seconds"]
    print_rich(table_of(titles, passes))


_COUNTS = ("gates_before", "gates_after", "literals_before", "literals_after")
