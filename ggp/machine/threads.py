"""The ways in which several threads can use one machine at once.

The methods of a machine are functions of what they are given, but they share data that is kept from
call to call, and kernels run side by side. There are three kinds of such data:

    made once           queries, tapes, tables of moves     `made_once`; never changes afterwards
    scratch             what kernels write on               taken out of a list for one call
    tables that grow    the numbers of percepts             one lock of the machine, its `growing`

*Made once.* Two threads may make the same thing, and both go on with that of the first to end.

*Scratch.* `pop` and `append` of a list are atomic, whatever other threads do. So each call
takes a spare one, or makes its own, and gives it back: there are never more of them than there were
calls at once. That is cheaper than a lock, and than memory that belongs to a thread.

*Tables that grow.* Two threads must not give two sets of percepts one number, and a kernel must not
look into a table that another one enlarges. A mere look-up goes without the lock where an atomic
operation of Python is enough: a new entry is complete before it can be found.

Threads of one machine share its count of states. A copy (`copy.copy`) of a machine counts for
itself, and shares all else with the machine: its states are that machine's states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class made_once(Generic[_T]):
    """A property that is made when it is first asked for, the same for all threads.

    `functools.cached_property` would make it anew for each thread that comes meanwhile; and before
    Python 3.12 for one thread of all instances at a time, by a lock that may be held in a fork.
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
        made: _T = instance.__dict__.setdefault(self._name, self._make(instance))
        return made
