"""Terms in kernels: equal terms have one number, and unused ones are collected."""

from __future__ import annotations

import numpy as np

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import GOLDEN, mixed_by, mixed_in
from ggp.machine.relational.kernels.records import (
    ARGUMENTS,
    BASE,
    COLLECT_AT,
    DONE,
    FULL_TERMS,
    I32,
    SHOWN,
    TERMS,
    TOO_LARGE_TERM,
    TermRows,
)


@inlined
def mix(value: np.uint64, number: int) -> np.uint64:
    """A hash with one more number in it."""
    return mixed_by(GOLDEN, value, np.uint64(number))


@inlined
def term_of(terms: TermRows, function: int, source: I32, at: int, num: int, most_size: int) -> int:
    """The number of a term with `num` arguments from `source[at]` on; added if it is new.

    Below zero: `FULL_TERMS` or `TOO_LARGE_TERM`.
    """
    key = mix(np.uint64(7), function)
    for i in range(num):
        key = mixed_in(key, terms.keys[source[at + i]])
    mask = np.uint64(len(terms.slots) - 1)
    slot = key & mask
    while True:
        found = terms.slots[slot]
        if found < 0:
            break
        if terms.keys[found] == key and terms.functions[found] == function:
            first = terms.first[found]
            same = True
            for i in range(num):
                if terms.arguments[first + i] != source[at + i]:
                    same = False
                    break
            if same:
                return int(found)
        slot = (slot + np.uint64(1)) & mask
    term, first_new = terms.used[TERMS], terms.used[ARGUMENTS]
    if term + 1 >= len(terms.functions) or first_new + num >= len(terms.arguments):
        return FULL_TERMS
    size = 1
    for i in range(num):
        size += terms.sizes[source[at + i]]
    if size > most_size:
        return TOO_LARGE_TERM
    terms.slots[slot] = term
    terms.functions[term] = function
    terms.keys[term] = key
    terms.sizes[term] = size
    terms.names[term] = -1
    for i in range(num):
        terms.arguments[first_new + i] = source[at + i]
    terms.first[term + 1] = first_new + num
    terms.used[TERMS] = term + 1
    terms.used[ARGUMENTS] = first_new + num
    return int(term)


@inlined
def show(terms: TermRows, term: int) -> int:
    """The number by which Python knows a term, assigned if it has none."""
    name = terms.names[term]
    if name < 0:
        # There are no more names than terms, so there is room.
        name = np.int32(terms.used[SHOWN])
        terms.used[SHOWN] += 1
        terms.names[term] = name
        terms.shown[name] = term
    return int(name)


@inlined
def place(terms: TermRows, term: int) -> None:
    """Give a slot to a term that has none."""
    mask = np.uint64(len(terms.slots) - 1)
    slot = terms.keys[term] & mask
    while terms.slots[slot] >= 0:
        slot = (slot + np.uint64(1)) & mask
    terms.slots[slot] = term


@inlined
def collect(terms: TermRows, current: I32, num: int) -> None:
    """Forget all terms except the base, those that Python knows, `current[:num]`, and the terms
    that they contain; these are renumbered."""
    base, before = terms.used[BASE], terms.used[TERMS]
    for term in range(base, before):
        terms.marks[term] = 1 if terms.names[term] >= 0 else 0
    for i in range(num):
        terms.marks[current[i]] = 1
    for term in range(before - 1, base - 1, -1):
        if terms.marks[term] != 0:
            for k in range(terms.first[term], terms.first[term + 1]):
                terms.marks[terms.arguments[k]] = 1
    for term in range(base):
        terms.marks[term] = term
    terms.slots[:] = -1
    kept, end = base, terms.first[base]
    for term in range(base, before):
        if terms.marks[term] != 0:
            start, stop = terms.first[term], terms.first[term + 1]
            # Everything that is overwritten was read before.
            for k in range(start, stop):
                terms.arguments[end] = terms.marks[terms.arguments[k]]
                end += 1
            terms.functions[kept] = terms.functions[term]
            terms.keys[kept] = terms.keys[term]
            terms.sizes[kept] = terms.sizes[term]
            terms.names[kept] = terms.names[term]
            if terms.names[kept] >= 0:
                terms.shown[terms.names[kept]] = kept
            terms.marks[term] = kept
            kept += 1
            terms.first[kept] = end
    for term in range(kept):
        place(terms, term)
    for i in range(num):
        current[i] = terms.marks[current[i]]
    terms.used[TERMS], terms.used[ARGUMENTS] = kept, end
    terms.used[COLLECT_AT] = max(len(terms.functions) // 2, 2 * kept)


@inlined
def collect_if_many(terms: TermRows, current: I32, num: int) -> None:
    """Collect when there are twice as many terms as the last time left, or half of the room is
    used."""
    if terms.used[TERMS] > terms.used[COLLECT_AT]:
        collect(terms, current, num)


@inlined
def sort_by_key(terms: TermRows, found: I32, start: int, end: int) -> None:
    """Sort terms in an order that depends only on their structure (heapsort)."""
    num = end - start
    for root in range(num // 2 - 1, -1, -1):
        _sift(terms, found, start, root, num)
    for last in range(num - 1, 0, -1):
        found[start], found[start + last] = found[start + last], found[start]
        _sift(terms, found, start, 0, last)


@inlined
def _sift(terms: TermRows, found: I32, start: int, root: int, num: int) -> None:
    item = found[start + root]
    key = terms.keys[item]
    while 2 * root + 1 < num:
        child = 2 * root + 1
        if (
            child + 1 < num
            and terms.keys[found[start + child + 1]] > terms.keys[found[start + child]]
        ):
            child += 1
        if terms.keys[found[start + child]] <= key:
            break
        found[start + root] = found[start + child]
        root = child
    found[start + root] = item


@kernel
def make_term(terms: TermRows, function: int, arguments: I32, num: int, most_size: int) -> int:
    """Call `term_of` from Python."""
    return term_of(terms, function, arguments, 0, num, most_size)


@kernel
def name_term(terms: TermRows, term: int) -> int:
    """Call `show` from Python."""
    return show(terms, term)


@kernel
def place_terms(terms: TermRows) -> int:
    """Give slots to all terms; all must be free."""
    for term in range(terms.used[TERMS]):
        place(terms, term)
    return DONE
