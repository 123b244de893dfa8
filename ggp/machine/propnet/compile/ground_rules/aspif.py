"""Reads ground rules in gringo's output format (aspif), while gringo still writes.

In come lines from a pipe, out go arrays of rules (`Ground`). A rule is a line of numbers:
`1 0 1 HEAD 0 SIZE CONDITIONS...`, with 1 as the second number if the head may hold or not.
`4 LENGTH TEXT 1 ATOM` gives the text of an atom, `4 LENGTH TEXT 0` one that always holds.

Numpy reads millions of lines several times as fast as clingo's callbacks would pass them on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS, Atoms, GroundRules

CHUNK = 1 << 20
"""Bytes of lines that are processed together."""

_FIXED = 6
"""Number of numbers of a rule before its conditions."""


class Ground(NamedTuple):
    """The output of gringo.

    Attributes:
        rules: the rules whose head holds if their conditions do.
        inputs: atoms that may hold or not.
        atoms: (text, atom) of every shown atom.
    """

    rules: GroundRules
    inputs: Atoms
    atoms: list[tuple[str, int]]


class AspifReader:
    """Reads the output that clingo writes to `path`, in a thread, until every writer has closed it.

    Args:
        counts: called in that thread with the numbers of further rules and of their conditions; an
            error in it ends the reading.
    """

    def __init__(self, counts: Callable[[int, int], None] | None = None) -> None:
        self._counts = counts
        self._read_end, self._write_end = os.pipe()
        self._parts: list[tuple[Atoms, Atoms, Atoms, Atoms]] = []
        self._atoms: list[tuple[str, int]] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="ggp-aspif", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            # There is too little memory for the thread's stack.
            raise MemoryError(str(error)) from error

    @property
    def path(self) -> str:
        """The file that clingo writes to."""
        return f"/dev/fd/{self._write_end}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        # After an error clingo keeps the file open as long as the exception is alive.
        os.close(self._write_end)

    def result(self) -> Ground:
        """The rules, once clingo has closed the file and this context has ended.

        Raises:
            MachineError: they are not ground rules of a game.
            MemoryError: there is not enough memory.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        columns = zip(*self._parts, strict=True) if self._parts else [()] * 4
        heads, sizes, conditions, inputs = (
            np.concatenate([np.zeros(0, dtype=np.int32), *parts]) for parts in columns
        )
        return Ground(GroundRules(heads, sizes, conditions), inputs, self._atoms)

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:
            self._error = error
        finally:
            # The writer must not have to wait for a reader that has failed.
            os.close(self._read_end)

    def _read(self) -> None:
        text = bytearray()
        while piece := os.read(self._read_end, CHUNK):
            text += piece
            if len(text) >= CHUNK:
                end = text.rfind(b"\n") + 1
                self._lines(bytes(text[:end]))
                del text[:end]
        self._lines(bytes(text))

    def _lines(self, text: bytes) -> None:
        """Read some complete lines."""
        if text.startswith(b"asp "):
            text = text[text.index(b"\n") + 1 :]
        # The texts of atoms come after all rules.
        first = 0 if text.startswith(b"4 ") else text.find(b"\n4 ") + 1
        if first or text.startswith(b"4 "):
            lines = text[first:].splitlines(keepends=True)
            self._atoms += [_shown_atom(line) for line in lines if line.startswith(b"4 ")]
            rest = [line for line in lines if not line.startswith(b"4 ")]
            text = b"".join([text[:first], *rest])
        if text:
            self._parts.append(_rules(text))
            if self._counts is not None:
                self._counts(len(self._parts[-1][0]), len(self._parts[-1][2]))


def _shown_atom(line: bytes) -> tuple[str, int]:
    _, length, rest = line.decode().split(" ", 2)
    name, conditions = rest[: int(length)], rest[int(length) :].split()
    if conditions == ["0"]:
        return name, ALWAYS
    if len(conditions) != 2:
        raise MachineError(f"clingo shows {name} on {len(conditions) - 1} conditions")
    return name, int(conditions[1])


def _rules(text: bytes) -> tuple[Atoms, Atoms, Atoms, Atoms]:
    """Heads, sizes and conditions of rules, and the heads that may hold or not."""
    numbers = np.fromstring(text, dtype=np.int32, sep=" ")
    characters = np.frombuffer(text, dtype=np.uint8)
    # Each number ends with a space or at the end of its line.
    ends = np.flatnonzero(characters[characters <= ord(" ")] == ord("\n")) + 1
    lengths = np.diff(ends, prepend=0)
    rules = numbers[ends - lengths] != 0  # a line with nothing but 0 ends the output
    starts = (ends - lengths)[rules]
    _check(numbers, starts)
    may_be = numbers[starts + 1] == 1
    matter = np.repeat(rules, lengths)
    matter[starts[:, None] + np.arange(_FIXED)] = False
    matter &= ~_spread(may_be, rules, lengths)
    holds = starts[~may_be]
    return numbers[holds + 3], numbers[holds + 5], numbers[matter], numbers[starts[may_be] + 3]


def _spread(
    of_rules: NDArray[np.bool_], rules: NDArray[np.bool_], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """A property of each rule, repeated for all numbers of its line; false in other lines."""
    of_lines = np.zeros(len(rules), dtype=np.bool_)
    of_lines[rules] = of_rules
    return np.repeat(of_lines, lengths)


def _check(numbers: Atoms, starts: NDArray[np.int64]) -> None:
    if not np.all(numbers[starts] == 1):
        raise MachineError("clingo wrote lines that are not rules")
    heads = numbers[starts + 2]
    if not np.all(heads == 1):
        raise MachineError(f"clingo made a rule with {heads[heads != 1][0]} heads")
    if np.any(numbers[starts + 4]):
        raise MachineError("clingo made a rule with weights")
