"""A filter that refuses system calls to this process and all that it starts.

`calls` lists what is refused. Refused calls fail with EPERM; nothing is killed. `clone3` fails with
ENOSYS, so that libraries use `clone`, whose flags can be read. Leaving the session, or the process
group, seems to succeed and does nothing.

The filter is a program of classic BPF over `struct seccomp_data`: number of the call, machine,
address, six arguments. Arguments of 32 bits are in the lower half; the kernel drops the other.

    call of another machine: refuse
    number in `REFUSED`: refuse
    for each of `CONDITIONS`: if number and all arguments match, refuse
    allow
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

from ggp.server.confinement.calls import CLONE3, CONDITIONS, REFUSED, STAYING, Argument, Condition

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_X86_64, _AARCH64 = 0xC000003E, 0xC00000B7
"""AUDIT_ARCH_* constants of the kernel."""

_X32 = 0x40000000
"""Numbers from here on belong to another interface of the same kernel."""

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_LOAD, _EQUAL, _ABOVE, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06

_MACHINES = {"x86_64": (0, _X86_64), "aarch64": (1, _AARCH64)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_calls(libc: ctypes.CDLL) -> bool:
    """Install the filter for this thread and all that it starts; irreversible.

    The process must have no right to new privileges (`PR_SET_NO_NEW_PRIVS`).

    Returns:
        whether it is in force: the kernel may lack filters, and the machine a table here.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.platform != "linux" or sys.maxsize < 1 << 32:
        return False
    code = _program(*machine)
    program = _Program(len(code) // 8, code)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _program(column: int, machine: int) -> bytes:
    """The filter for a machine, whose numbers are in this column of the tables."""
    refuse = _step(_RETURN, _REFUSE | errno.EPERM)
    steps = [_load(_MACHINE_AT), _step(_EQUAL, machine, yes=1), refuse, _load(_NUMBER_AT)]
    if machine == _X86_64:
        steps += [_step(_AT_LEAST, _X32, no=1), refuse]
    answers = {**dict.fromkeys(REFUSED.values(), errno.EPERM), CLONE3: errno.ENOSYS}
    answers |= dict.fromkeys(STAYING.values(), 0)
    for numbers, error in answers.items():
        if (number := numbers[column]) is not None:
            steps += [_step(_EQUAL, number, no=1), _step(_RETURN, _REFUSE | error)]
    for condition in CONDITIONS.values():
        steps += _refused_if(condition, column)
    return b"".join((*steps, _step(_RETURN, _ALLOW)))


def _refused_if(condition: Condition, column: int) -> list[bytes]:
    """Steps that refuse a call, or continue with its number loaded."""
    number = condition.numbers[column]
    if number is None:
        return []
    # From the last step to the first, since each test says how many steps to skip.
    steps = [_step(_RETURN, _REFUSE | errno.EPERM), _load(_NUMBER_AT)]
    for argument in reversed(condition.arguments):
        steps = [*_unless(argument, skip=len(steps) - 1), *steps]
    return [_step(_EQUAL, number, no=len(steps)), *steps]


def _unless(argument: Argument, skip: int) -> list[bytes]:
    """Steps that skip others unless a condition on an argument holds."""
    low, value = _ARGUMENTS_AT + 8 * argument.place, argument.value  # little endian
    match argument.test:
        case "bits":
            return [_load(low), _step(_ANY_BIT, value, no=skip)]
        case "is":
            return [_load(low), _step(_EQUAL, value, no=skip)]
        case "is not":
            return [_load(low), _step(_EQUAL, value, yes=skip)]
        case "above":
            upper = [_load(low + 4), _step(_EQUAL, 0, no=2)]
            return [*upper, _load(low), _step(_ABOVE, value, no=skip)]


def _load(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One step of a program, with the numbers of steps to skip if its test holds, or fails."""
    return struct.pack("=HBBI", code, yes, no, value)
