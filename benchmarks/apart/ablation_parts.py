"""What `benchmarks.ablation` can leave out, and how: names of modules take another value meanwhile.

A *pass* is left out of the list of passes, everywhere or (`flatten 2`) where it runs for the second
time. A *step* of a pass does nothing. A *trick* is one of laying a circuit out, so the circuit is
the same. What is left out *apart* needs a process of its own: kernels, which are compiled anew, and
rules that are rewritten before they are ground.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine import circuit
from ggp.machine.compiling.jit import inlined
from ggp.machine.propnet import optimise
from ggp.machine.propnet.compile.rewriting import splits
from ggp.machine.propnet.optimise import draft, passes
from ggp.machine.propnet.play.kernels import block_kernels, block_playouts, blocks
from ggp.machine.propnet.play.kernels.tapes import U64, Tape
from ggp.machine.propnet.play.layout import phases, queries, tape_layout

_NO_LIMIT = 1 << 60


class Change(NamedTuple):
    """A value that a name of a module or class has meanwhile."""

    owner: Any
    name: str
    value: Any


def _gives(position: int) -> Callable[..., Any]:
    """A function that returns one of its arguments unchanged."""
    return lambda *arguments, **_: arguments[position]


def _nothing(*_: object) -> None:
    return None


def _any_reached(circuit: Any, *_: object, **__: object) -> Any:
    return np.ones(1 + circuit.num_inputs + circuit.num_gates, dtype=np.bool_)


def _no_plan_in_turns(circuit: Any) -> Any:
    return _PLAN(circuit)._replace(turns=1)


_PLAN = queries.playout_plan


@inlined
def _any_singles(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    return block_kernels._run_any(tape, s, start, rows, playing, width)


@inlined
def _any_pairs(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    pairs: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    return block_kernels._run_any(tape, s, start, rows, playing, width)


@inlined
def _count_itself(packed: U64, state: int, entry: int, room: int, at: NDArray[np.int64]) -> int:
    return int(entry == state)


STEPS: dict[str, tuple[Change, ...]] = {
    "extract: reuse": (Change(passes._Shared, "reuse_gates", _nothing),),
    "extract: common": (Change(passes._Shared, "group_common", _nothing),),
    "invariants: equal": (Change(passes, "equal_fluents", lambda *_: {}),),
    "kernels of passes": (Change(draft, "FOR_KERNELS", math.inf),),
}
"""Steps of passes, with the changes that leave each out."""

TRICKS: dict[str, tuple[Change, ...]] = {
    "phases": (Change(phases, "MIN_LITERALS", math.inf),),
    "clocks": (Change(phases, "_clock", lambda _: (np.zeros(0, int), np.zeros((0, 0), bool))),),
    "reach": (
        Change(phases, "reachable", lambda phases_: np.zeros((0, 2, len(phases_.fluents)), bool)),
    ),
    "turns": (Change(queries, "playout_plan", _no_plan_in_turns),),
    "what matters": (Change(queries, "cone", _any_reached),),
    "groups of moves": (Change(queries, "SPARSE", _NO_LIMIT),),
    "fusing": (Change(tape_layout, "INSIDE", -1),),
    "straight": (
        Change(
            tape_layout,
            "written_straight",
            lambda *arguments: np.zeros(len(arguments[2]), np.bool_),
        ),
    ),
    "kernels of layout": (Change(circuit, "LARGE", math.inf),),
}
"""Tricks of layout, with the changes that leave each out."""

KERNELS: dict[str, tuple[Change, ...]] = {
    "loops of singles": (Change(block_kernels, "_run_singles", _any_singles),),
    "loops of pairs": (Change(block_kernels, "_run_pairs", _any_pairs),),
    "refill": (Change(block_playouts, "REFILL", 0),),
    "words alike": (Change(blocks, "_count_alike", _count_itself),),
}
"""Parts of kernels, which are compiled anew without them."""

RULES: dict[str, tuple[Change, ...]] = {
    "split rules": (Change(splits, "decompose", lambda rules, *_, **__: rules),),
    "only what is asked for": (Change(splits, "LARGE", math.inf),),
    "differences": (Change(splits, "with_differences", _gives(0)),),
    "alternatives": (Change(splits, "with_alternatives", _gives(0)),),
    "unchanging": (Change(splits, "unchanging", lambda _: []),),
}
"""Rewriting of rules before and during grounding, with the changes that leave it out."""

APART = KERNELS | RULES
"""Parts that are left out in a process of their own."""


def _passes() -> Iterator[str]:
    """Every pass, and every run of a pass that runs several times."""
    times = Counter(name for name, _ in optimise.PASSES)
    for name, count in times.items():
        yield name
        if count > 1:
            yield from (f"{name} {number}" for number in range(1, 1 + count))


PARTS = (*_passes(), *STEPS, *TRICKS, *APART)
"""What can be left out."""


def changes_circuit(parts: Iterable[str]) -> bool:
    """Whether a circuit is another one without some parts."""
    return not {*parts} <= {*TRICKS}


@contextmanager
def left_out(parts: Iterable[str]) -> Iterator[None]:
    """Within, some parts are left out of what is made; those of `APART` for good in this process,
    since kernels are compiled when they are first called."""
    out = {*parts}
    every = STEPS | TRICKS | APART
    changes = [change for part in every.keys() & out for change in every[part]]
    changes.append(Change(optimise, "PASSES", _passes_without(out)))
    originals = [part_change.owner.__dict__[part_change.name] for part_change in changes]
    for part_change in changes:
        setattr(part_change.owner, part_change.name, part_change.value)
    try:
        yield
    finally:
        for part_change, value in zip(changes, originals, strict=True):
            setattr(part_change.owner, part_change.name, value)


def _passes_without(out: set[str]) -> tuple[Any, ...]:
    times: Counter[str] = Counter()
    passes = []
    for name, run in optimise.PASSES:
        times[name] += 1
        if not {name, f"{name} {times[name]}"} & out:
            passes.append((name, run))
    return tuple(passes)
