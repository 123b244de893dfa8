"""A filter that refuses system calls to this process and its descendants.

`REFUSED` and `CONDITIONS` list the refused calls. These fail with EPERM; nothing is killed.
`clone3` fails with ENOSYS, so that libraries use `clone`, whose flags a filter can read. Leaving
the session or the process group seems to succeed but does nothing.

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
from typing import Literal, NamedTuple

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
    """Install the filter for this thread and its descendants; irreversible.

    The process must have given up new privileges (`PR_SET_NO_NEW_PRIVS`).

    Returns:
        whether it is in force: the kernel may lack filters, or this module the machine's numbers.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.platform != "linux" or sys.maxsize < 1 << 32:
        return False
    code = _program(*machine)
    program = _Program(len(code) // 8, code)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _program(column: int, machine: int) -> bytes:
    """The filter for a machine, whose call numbers are in this column of the tables."""
    refuse = _step(_RETURN, _REFUSE | errno.EPERM)
    steps = [_load(_MACHINE_AT), _step(_EQUAL, machine, yes=1), refuse, _load(_NUMBER_AT)]
    if machine == _X86_64:
        steps += [_step(_AT_LEAST, _X32, no=1), refuse]
    answers = {**dict.fromkeys(REFUSED.values(), errno.EPERM), CLONE3: errno.ENOSYS}
    answers |= dict.fromkeys(STAYING.values(), 0)
    for numbers, error in answers.items():
        if (number := numbers[column]) is not None:
            steps += [_step(_EQUAL, number, no=1), _step(_RETURN, _REFUSE | error)]
    for condition in CONDITIONS:
        steps += _refused_if(condition, column)
    return b"".join((*steps, _step(_RETURN, _ALLOW)))


def _refused_if(condition: Condition, column: int) -> list[bytes]:
    """Steps that refuse a call, or continue with its number loaded."""
    number = condition.numbers[column]
    if number is None:
        return []
    # Built backwards, since each test contains the number of steps to skip.
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


# ------------------------------------------------------------------------
# The system calls that are refused to workers, with their numbers (asm/unistd.h).
#
# The list names refused calls rather than allowed ones: interpreters and libraries of many systems
# need many calls.

Numbers = tuple[int | None, int | None]
"""Numbers on x86_64 and aarch64; None if the machine does not have the call."""

NETWORK: dict[str, Numbers] = {
    **{"socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201)},
    **{"accept": (43, 202), "accept4": (288, 242)},
}
"""Sockets, except pairs that are connected to each other."""

AROUND: dict[str, Numbers] = {
    **{"io_uring_setup": (425, 425), "io_uring_enter": (426, 426)},
    **{"io_uring_register": (427, 427), "bpf": (321, 280), "userfaultfd": (323, 282)},
    **{"perf_event_open": (298, 241), "add_key": (248, 217), "request_key": (249, 218)},
    **{"keyctl": (250, 219), "syslog": (103, 116), "vmsplice": (278, 75)},
    **{"splice": (275, 76), "tee": (276, 77), "personality": (135, 92)},
    **{"modify_ldt": (154, None), "uselib": (134, None), "nfsservctl": (180, 42)},
    **{"lookup_dcookie": (212, 18)},
}
"""Calls with effects that a filter cannot see, and that have often been a way into the kernel."""

PROCESSES: dict[str, Numbers] = {
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272)},
    **{"pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424)},
    **{"rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)},
    **{"setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118)},
    **{"sched_setscheduler": (144, 119), "sched_setattr": (314, 274)},
    **{"sched_setaffinity": (203, 122), "migrate_pages": (256, 238), "move_pages": (279, 239)},
}
"""Inspecting and changing other processes, and signals that carry additional data."""

MEMORY: dict[str, Numbers] = {
    **{"memfd_create": (319, 279), "memfd_secret": (447, 447)},
    **{"shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195)},
    **{"semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191)},
    **{"msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187)},
    **{"mq_open": (240, 180), "mq_unlink": (241, 181)},
}
"""Memory and queues that are not charged to any process, and that others may share."""

NAMESPACES: dict[str, Numbers] = {
    **{"unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39)},
    **{"pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430)},
    **{"fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433)},
    **{"move_mount": (429, 429), "open_tree": (428, 428), "open_tree_attr": (467, 467)},
    **{"mount_setattr": (442, 442), "name_to_handle_at": (303, 264)},
    **{"open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443)},
    **{"acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225)},
}
"""Namespaces and file systems."""

FILES: dict[str, Numbers] = {
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452)},
    **{"chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54)},
    **{"utime": (132, None), "utimes": (235, None), "futimesat": (261, None)},
    **{"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)},
    **{"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)},
    **{"setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469)},
    **{"inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27)},
    **{"fanotify_init": (300, 262), "fanotify_mark": (301, 263)},
}
"""Modes, owners, attributes and times of files, and notifications of their use by others."""

MACHINE: dict[str, Numbers] = {
    **{"init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106)},
    **{"kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142)},
    **{"sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170)},
    **{"clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171)},
    **{"iopl": (172, None), "ioperm": (173, None), "vhangup": (153, 58)},
}
"""The machine: its kernel, names and clocks."""

REFUSED = NETWORK | AROUND | PROCESSES | MEMORY | NAMESPACES | FILES | MACHINE


class Argument(NamedTuple):
    """A condition on an argument of a call under which the call is refused.

    Attributes:
        place: index of the argument, from 0.
        test: `bits`: any of these bits is set; `is`, `is not`: compares the lower 32 bits; `above`:
            compares all 64.
        value: the bits, or the number to compare with.
    """

    place: int
    test: Literal["bits", "is", "is not", "above"]
    value: int


class Condition(NamedTuple):
    """A call that is refused under conditions on its arguments.

    Attributes:
        numbers: of the call.
        arguments: conditions that must all hold, in this order.
    """

    numbers: Numbers
    arguments: tuple[Argument, ...]


CLONE, MMAP, PRLIMIT, UTIMENSAT = (56, 220), (9, 222), (302, 261), (280, 88)
FCNTL, IOCTL, PRCTL, SOCKETPAIR = (72, 25), (16, 29), (157, 167), (53, 199)

CLONE3: Numbers = (435, 435)
"""Its flags are in memory, where a filter cannot read them; without it, libraries use `clone`."""

STAYING: dict[str, Numbers] = {"setsid": (112, 157), "setpgid": (109, 154)}
"""Calls that seem to succeed but do nothing: so all descendants of a worker end with its group."""

MAX_SHARED_BYTES = 4096
"""Maximum size of anonymous memory that a process and its copies may share: it has their clocks."""

_SHARED, _ANONYMOUS, _GROWS_DOWN = 0x01, 0x20, 0x0100
_NEW_NAMESPACES, _OF_PARENT = 0x7E020000, 0x8000
_SET_PIPE_SIZE, _SET_CHILD_SUBREAPER, _AF_UNIX = 1031, 36, 1
_FAKE_INPUT, _TAKE_TERMINAL, _CONSOLE = 0x5412, 0x540E, 0x541C

CONDITIONS: tuple[Condition, ...] = (
    # New namespaces.
    Condition(CLONE, (Argument(0, "bits", _NEW_NAMESPACES),)),
    # Children of its parent: processes that seem to be the server's own.
    Condition(CLONE, (Argument(0, "bits", _OF_PARENT),)),
    # Shared memory, which RLIMIT_DATA does not count.
    Condition(
        MMAP,
        (
            Argument(3, "bits", _ANONYMOUS),
            Argument(3, "bits", _SHARED),
            Argument(1, "above", MAX_SHARED_BYTES),
        ),
    ),
    # A stack: memory that RLIMIT_DATA does not count.
    Condition(MMAP, (Argument(3, "bits", _GROWS_DOWN),)),
    # Limits of others, such as the server.
    Condition(PRLIMIT, (Argument(0, "is not", 0),)),
    # Times of files but now.
    Condition(UTIMENSAT, (Argument(2, "above", 0),)),
    # Large pipes: memory of the kernel.
    Condition(FCNTL, (Argument(1, "is", _SET_PIPE_SIZE),)),
    # Input of a terminal: typing what the user's shell runs.
    Condition(IOCTL, (Argument(1, "is", _FAKE_INPUT),)),
    # Taking a terminal.
    Condition(IOCTL, (Argument(1, "is", _TAKE_TERMINAL),)),
    # Typing on a console.
    Condition(IOCTL, (Argument(1, "is", _CONSOLE),)),
    # Adopting orphans: children that nobody finds.
    Condition(PRCTL, (Argument(0, "is", _SET_CHILD_SUBREAPER),)),
    # Pairs of other kinds of sockets than local ones.
    Condition(SOCKETPAIR, (Argument(0, "is not", _AF_UNIX),)),
)
"""Calls that are refused only with some arguments."""
