"""Rules by which several threads can use one machine, and a property for data that is made once.

The methods of a machine are pure functions, but they share data between calls, and kernels run in
parallel. There are three kinds of shared data:

    made once           queries, tapes, tables of moves     `made_once`; never changes afterwards
    scratch             arrays that kernels write           taken out of a list for one call
    tables that grow    ids of percepts                     one lock of the machine, its `growing`

*Made once.* Two threads may make the same value; both use the one that is stored first.

*Scratch.* `pop` and `append` of a list are atomic. So each call takes a spare array or makes a new
one, and puts it back afterwards. There are never more than calls at the same time. This is cheaper
than a lock, and needs less memory than an array for each thread.

*Tables that grow.* Two threads must not give the same id to two sets of percepts, and a kernel must
not read a table while another one enlarges it. A look-up goes without the lock where an atomic
operation of Python is enough: a new entry is complete before it can be found.

Threads of one machine share its count of states. A copy (`copy.copy`) of a machine has its own
count and shares everything else, so both can use the same states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class made_once(Generic[_T]):
    """A property that is computed on first access, and has the same value in all threads.

    `functools.cached_property` may give different values to threads that access it at the same
    time. Before Python 3.12 it has one lock for all instances, which may be held during a fork.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> made_once[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> made_once[_T] | _T:
        if instance is None:
            return self
        value: _T = instance.__dict__.setdefault(self._name, self._make(instance))
        return value
