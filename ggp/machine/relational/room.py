"""The memory of the relational backend's kernels: small at first, and doubled when it is full.

Kernels cannot allocate. They return the code of a full array, and their caller calls
`GameMemory.grow`, which replaces it by a larger one, up to a limit on bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.machine.base import Limits
from ggp.machine.relational.records import (
    ANSWER_SIZE,
    BASE,
    COLLECT_AT,
    ENOUGH,
    EPOCH,
    FULL_CALLS,
    FULL_OUT,
    FULL_ROWS,
    FULL_STACK,
    FULL_TERMS,
    NUM_COUNTS,
    TERM_SIZE,
    TERMS,
    TOO_LARGE_ANSWER,
    TOO_LARGE_TERM,
    WIDEST,
    Calls,
    Code,
    Memory,
    Rows,
    Stack,
    TermRows,
    place_terms,
)

STEPS_AN_INFERENCE = 5
"""Steps of the interpreter for each inference that limits allow: the interpreter needs more steps
than Prolog needs inferences, and each takes a tenth of the time."""

UNBOUNDED = 2**31 - 1
"""In place of a bound, where terms cannot grow."""

_FIRST_TERMS, _FIRST_ROWS, _FIRST_CALLS, _FIRST_FRAMES, _FIRST_OUT = 1 << 11, 256, 256, 64, 1 << 10

_NO_CODE = np.zeros(1, dtype=np.int32)


class GameMemory:
    """The memory of one game.

    Args:
        limits: bounds on bytes of tables, and on sizes of terms and answers.
        grows: whether terms may grow without end, so that their size is checked.

    Attributes:
        memory: the arrays for kernels; replaced when one has grown.
        term_size: greatest number of functions in one term.
        meanwhile: called whenever a kernel returns; an exception ends the question.
    """

    def __init__(self, limits: Limits, *, grows: bool) -> None:
        self._limits = limits
        self.meanwhile: Callable[[], None] = _nothing
        self.term_size = limits.term_size if grows else UNBOUNDED
        counts = np.zeros(NUM_COUNTS, dtype=np.int64)
        counts[ENOUGH] = UNBOUNDED
        counts[TERM_SIZE] = self.term_size
        counts[ANSWER_SIZE] = limits.answer_size if grows else UNBOUNDED
        nothing = np.zeros((1, 6), dtype=np.int32)
        self.memory = Memory(
            code=Code(
                np.zeros((1, 10), dtype=np.int32),
                _NO_CODE,
                nothing,
                _NO_CODE,
                nothing,
                nothing,
                _NO_CODE,
                nothing,
                _NO_CODE,
                _NO_CODE,
                _NO_CODE,
                _NO_CODE,
            ),
            terms=_new_terms(_FIRST_TERMS, 0),
            facts=_new_rows(16, 0),
            rows=_new_rows(_FIRST_ROWS, 0),
            calls=_new_calls(_FIRST_CALLS, 0),
            stack=_new_stack(_FIRST_FRAMES, 0),
            counts=counts,
            statistics=np.zeros((1, 4), dtype=np.int64),
            out=np.zeros(_FIRST_OUT, dtype=np.int32),
        )

    @property
    def budget(self) -> int:
        """Steps for one question about one state."""
        return STEPS_AN_INFERENCE * self._limits.inferences

    def take(self, code: Code, facts: Rows, widest: int) -> None:
        """Replace the rules and facts, with empty tables for states.

        Args:
            facts: the rows of the rules' facts.
            widest: the greatest number of arguments of a relation or function.
        """
        memory, wide = self.memory, int(max(widest, self.memory.counts[WIDEST]))
        memory.counts[WIDEST] = wide
        self.memory = memory._replace(
            code=code,
            facts=facts,
            statistics=np.zeros((len(code.procedures), 4), dtype=np.int64),
            rows=_new_rows(_FIRST_ROWS, wide),
            calls=_new_calls(_FIRST_CALLS, wide),
            stack=_new_stack(_FIRST_FRAMES, wide),
        )

    def keep_terms(self) -> None:
        """Make the terms so far permanent."""
        self.memory.terms.counters[BASE] = self.memory.terms.counters[TERMS]

    def grow(self, failed: int, doing: str) -> None:
        """Double the array that is full.

        Args:
            failed: the code that a kernel returned.
            doing: the purpose of the kernel's call, for error messages.

        Raises:
            ReasonerLimitError: memory has reached its limit, or a kernel has reached another one.
        """
        memory, wide = self.memory, int(self.memory.counts[WIDEST])
        if failed == FULL_TERMS:
            memory = memory._replace(terms=_more_terms(memory.terms, wide))
        elif failed == FULL_ROWS:
            rows = _new_rows(2 * len(memory.rows.first), wide)
            rows.counters[EPOCH] = memory.rows.counters[EPOCH]  # calls have it as well
            memory = memory._replace(rows=rows)
        elif failed == FULL_CALLS:
            memory = memory._replace(calls=_new_calls(2 * len(memory.calls.entries), wide))
        elif failed == FULL_STACK:
            memory = memory._replace(stack=_new_stack(2 * len(memory.stack.frames), wide))
        elif failed == FULL_OUT:
            out = np.zeros(2 * len(memory.out), dtype=np.int32)
            out[: len(memory.out)] = memory.out
            memory = memory._replace(out=out)
        else:
            self._say(failed, doing)
        if _bytes_of(memory) > self._limits.table_bytes:
            raise ReasonerLimitError("bytes of tables", self._limits.table_bytes, doing)
        self.memory = memory

    def _say(self, failed: int, doing: str) -> NoReturn:
        limits = self._limits
        if failed == TOO_LARGE_TERM:
            raise ReasonerLimitError("functions in one term", limits.term_size, doing)
        if failed == TOO_LARGE_ANSWER:
            raise ReasonerLimitError("words of terms at once", limits.answer_size, doing)
        raise ReasonerLimitError("inferences", limits.inferences, doing)


def _nothing() -> None:
    """Do nothing."""


def _bytes_of(memory: Memory) -> int:
    parts = (memory.terms, memory.rows, memory.calls, memory.stack, (memory.out,))
    return sum(array.nbytes for part in parts for array in part)


def _numbers(*shape: int, fill: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.full(shape, fill, dtype=np.int32)


def _new_terms(size: int, wide: int) -> TermRows:
    counters = np.zeros(5, dtype=np.int64)
    counters[COLLECT_AT] = size // 2
    return TermRows(
        functions=_numbers(size),
        first=_numbers(size + 1),
        arguments=_numbers(4 * size + wide),
        keys=np.zeros(size, dtype=np.uint64),
        sizes=_numbers(size),
        names=_numbers(size, fill=-1),
        by_name=_numbers(size),
        marks=_numbers(size),
        slots=_numbers(2 * size, fill=-1),
        counters=counters,
    )


def _more_terms(terms: TermRows, wide: int) -> TermRows:
    """A copy of the terms, with room for twice as many."""
    larger = _new_terms(2 * len(terms.functions), wide)
    for name in ("functions", "first", "arguments", "keys", "sizes", "names", "by_name"):
        old = getattr(terms, name)
        getattr(larger, name)[: len(old)] = old
    larger.counters[:] = terms.counters
    larger.counters[COLLECT_AT] = len(terms.functions)
    place_terms(larger)
    return larger


def _new_rows(size: int, wide: int) -> Rows:
    counters = np.zeros(4, dtype=np.int64)
    counters[EPOCH] = 1
    return Rows(
        first=_numbers(size),
        cells=_numbers(8 * size + 2 * wide + 8),
        links=_numbers(size, 2),
        slots=_numbers(2 * size, 4),
        counters=counters,
    )


def _new_calls(size: int, wide: int) -> Calls:
    return Calls(
        entries=_numbers(size, 8),
        args=_numbers(4 * size + 2 * wide),
        slots=_numbers(2 * size, 2),
        answers=_numbers(8 * size + 2 * wide),
        answer_slots=_numbers(1 << (8 * size + 2 * wide).bit_length(), 3),
        counters=np.zeros(3, dtype=np.int64),
    )


def _new_stack(size: int, wide: int) -> Stack:
    return Stack(
        frames=np.zeros((size, 8), dtype=np.int64),
        registers=_numbers(32 * size + 8 * wide + 64),
        group=_numbers(4 * size),
    )


def rows_for(num_rows: int, num_cells: int, num_links: int) -> Rows:
    """Empty rows, with room for a given number of facts."""
    rows = _new_rows(0, 0)
    size = 1 << (num_links + 8).bit_length()
    return rows._replace(
        first=_numbers(num_rows + 1),
        cells=_numbers(num_cells + 1),
        links=_numbers(num_links + 1, 2),
        slots=_numbers(2 * size, 4),
    )
