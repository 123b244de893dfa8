"""A filter of system calls for this process and all that it starts: what no player needs.

A list of what is refused, not of what is allowed: interpreters and libraries of many systems
need many calls. What is refused fails with EPERM (`clone3` with ENOSYS, so that libraries take
`clone`, whose flags can be read), and nothing is killed:

- sockets of every kind, but pairs that are connected to each other only;
- `io_uring`, which would do what a filter cannot see;
- looking into other processes, and limiting them;
- namespaces, file systems, kernel modules, keys, BPF, clocks, names;
- modes, owners, attributes of files, and their times but "now".

The filter is a program of classic BPF over `struct seccomp_data`: number of the call, machine,
address, six arguments.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_X86_64, _AARCH64 = 0xC000003E, 0xC00000B7
"""AUDIT_ARCH_* of the kernel."""

_X32 = 0x40000000
"""Numbers from here on are those of another interface of the same kernel."""

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_NEW_NAMESPACES = 0x7E020000
"""All CLONE_NEW* that `clone` takes."""

_CALLS: dict[str, tuple[int | None, int | None]] = {
    # sockets
    **{"socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201)},
    **{"accept": (43, 202), "accept4": (288, 242)},
    # what goes around the filter, and ways into the kernel
    **{"io_uring_setup": (425, 425), "io_uring_enter": (426, 426)},
    **{"io_uring_register": (427, 427), "bpf": (321, 280), "userfaultfd": (323, 282)},
    **{"perf_event_open": (298, 241), "add_key": (248, 217), "request_key": (249, 218)},
    **{"keyctl": (250, 219), "syslog": (103, 116)},
    # other processes
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"process_madvise": (440, 440), "pidfd_getfd": (438, 438), "kcmp": (312, 272)},
    **{"shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180)},
    # namespaces and file systems
    **{"unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39)},
    **{"pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430)},
    **{"fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433)},
    **{"move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442)},
    **{"name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265)},
    **{"fanotify_init": (300, 262), "quotactl": (179, 60), "quotactl_fd": (443, 443)},
    **{"acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225)},
    # files
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452)},
    **{"chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54)},
    **{"utime": (132, None), "utimes": (235, None), "futimesat": (261, None)},
    **{"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)},
    **{"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)},
    **{"setxattrat": (463, 463), "removexattrat": (466, 466)},
    # the machine
    **{"init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106)},
    **{"kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142)},
    **{"sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170)},
    **{"clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171)},
    **{"iopl": (172, None), "ioperm": (173, None)},
}
"""Calls that are refused, with their numbers on x86_64 and aarch64 (asm/unistd.h)."""

_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRLIMIT, _UTIMENSAT = (302, 261), (280, 88)

_MACHINES = {"x86_64": (0, _X86_64), "aarch64": (1, _AARCH64)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_calls(libc: ctypes.CDLL) -> bool:
    """Put the filter in force for this thread and all that it starts; there is no way back.

    The process must have no right to new privileges (`PR_SET_NO_NEW_PRIVS`).

    Returns:
        whether it is in force: the kernel may have no filters, and the machine no table here.
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
    allow = _step(_RETURN, _ALLOW)
    steps = [_load(_MACHINE_AT), _step(_EQUAL, machine, yes=1), refuse, _load(_NUMBER_AT)]
    if machine == _X86_64:
        steps += [_step(_AT_LEAST, _X32, no=1), refuse]
    for numbers in _CALLS.values():
        number = numbers[column]
        if number is not None:
            steps += [_step(_EQUAL, number, no=1), refuse]
    absent = _step(_RETURN, _REFUSE | errno.ENOSYS)
    steps += [_step(_EQUAL, _CLONE3[column], no=1), absent]
    first, third = _ARGUMENTS_AT, _ARGUMENTS_AT + 16  # the lower halves: little endian
    threads = [_load(first), _step(_ANY_BIT, _NEW_NAMESPACES, no=1), refuse, allow]
    steps += [_step(_EQUAL, _CLONE[column], no=len(threads)), *threads]
    own = [_load(first), _step(_EQUAL, 0, yes=1), refuse, allow]
    steps += [_step(_EQUAL, _PRLIMIT[column], no=len(own)), *own]
    now = [_load(third), _step(_EQUAL, 0, yes=1), refuse]
    now += [_load(third + 4), _step(_EQUAL, 0, yes=1), refuse]
    steps += [_step(_EQUAL, _UTIMENSAT[column], no=len(now)), *now]
    return b"".join((*steps, allow))


def _load(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One step of a program, and how many steps are left out if its test holds, or fails."""
    return struct.pack("=HBBI", code, yes, no, value)
