"""Probes of a process that has given up its rights: at least one for each claim of the sandbox.

A probe is run only if its claim was made and `is_confined` confirms it without doing any harm. In
a process that is not confined a probe does nothing.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ggp.server.confinement import sandbox, seccomp

MEMORY_BYTES = 1 << 30
SHARED_BYTES = 400 << 20

DENIED = frozenset({"PermissionError"})
UNCONFINED = "not tried: this process is not confined"


class Places(NamedTuple):
    """The places that probes try to use.

    Attributes:
        inside: a folder that may be written.
        outside: one that may not be read, with a file `kept` and a `program`.
        home: of the user, with a file `secret`.
        imports: a folder of imports, with a package `package` and a file `secret`.
        unix: a socket that listens.
        abstract: the name of an abstract one.
    """

    inside: str
    outside: str
    home: str
    imports: str
    unix: str
    abstract: str

    @classmethod
    def below(cls, folder: Path, abstract: str = "") -> Places:
        names = "in", "out", "home", "imports", "unix"
        inside, outside, home, imports, unix = (str(folder / name) for name in names)
        return cls(inside, outside, home, imports, unix, abstract)


class Probe(NamedTuple):
    """One attempt.

    Attributes:
        claim: of `sandbox.restrict`, which it tests; empty if it must still succeed.
        name: of the probe.
        action: the attempt.
        ends: the permitted outcomes: the `repr` of a value, or the name of an exception.
    """

    claim: str
    name: str
    action: Callable[[], object]
    ends: Iterable[str]


def status(*names: str) -> str:
    """Fields of `/proc/self/status`, joined."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return "".join(line.partition(":")[2].strip() for line in lines if line.split(":")[0] in names)


def is_confined(claim: str, places: Places) -> bool:
    """Whether a claim holds for this process, as far as can be tested without harm."""
    limits = {
        "memory": (resource.RLIMIT_DATA, MEMORY_BYTES),
        "address space": (resource.RLIMIT_AS, MEMORY_BYTES + sandbox.SPARE_ADDRESSES),
        "open files": (resource.RLIMIT_NOFILE, sandbox.MAX_OPEN_FILES),
        "file size": (resource.RLIMIT_FSIZE, sandbox.MAX_FILE_BYTES),
        "core dumps": (resource.RLIMIT_CORE, 0),
        "processes": (resource.RLIMIT_NPROC, sandbox.MAX_PROCESSES),
    }
    if claim in limits:
        resource_id, maximum = limits[claim]
        return 0 <= resource.getrlimit(resource_id)[1] <= maximum
    of_filter = {"no sockets", "no shared memory", "no system calls but common ones"}
    if claim in of_filter | {sandbox.STAYS}:
        return is_filtered()
    of_files = {"no reading of other files", "no writing"}
    if claim in of_files | {"no TCP", "no abstract sockets", "no signals"}:
        return _cannot_list(places.outside)
    return status("NoNewPrivs") == "1" or claim == ""


def _cannot_list(folder: str) -> bool:
    try:
        os.listdir(folder)
    except PermissionError:
        return True
    return False


def called(numbers: seccomp.Numbers, *arguments: int) -> str:
    """The error of a system call. It is made only under the filter, since it might succeed."""
    number = numbers[platform.machine() == "aarch64"]
    if not is_filtered():
        return UNCONFINED
    return "EPERM" if number is None else _error(number, *arguments)


def is_filtered() -> bool:
    """Whether our filter is in force; a container has one of its own.

    It makes a call that has no effect, since its flags do not exist.
    """
    number = seccomp.REFUSED["inotify_init1"][platform.machine() == "aarch64"]
    return number is not None and _error(number, -1) == "EPERM"


def _error(number: int, *arguments: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_void_p(argument) for argument in arguments]
    return "done" if libc.syscall(number, *words) >= 0 else errno.errorcode[ctypes.get_errno()]


def probes(places: Places) -> list[Probe]:
    """All probes, in order: later ones need the files that earlier ones write in `inside`."""
    return [*_possible(places), *_of_limits(places), *_of_files(places), *_of_the_rest(places)]


def _possible(places: Places) -> list[Probe]:
    inside = places.inside
    return [
        Probe("", "write inside", lambda: _append(inside + "/a"), {"0"}),
        Probe("", "read inside", lambda: Path(inside, "a").read_text(), {"'x'"}),
        Probe("", "rename", lambda: os.replace(inside + "/a", inside + "/b"), {"0"}),
        Probe("", "touch", lambda: os.utime(inside + "/b"), {"0"}),
        Probe("", "read library", lambda: len(Path(json.__file__).read_text()) > 0, {"True"}),
        Probe("", "read package", lambda: _read(places.imports, "package/data"), {"'data'"}),
        Probe("", "start thread", lambda: threading.Thread(target=int).start(), {"0"}),
        Probe("", "run Python", lambda: _python("import clingo; print('runs')"), {"'runs\\n'"}),
        Probe("", "own session", lambda: _python("print('runs')", session=True), {"'runs\\n'"}),
        Probe("", "pair", lambda: len(socket.socketpair()), {"2"}),
        Probe("", "share a page", lambda: mmap.mmap(-1, 64).close(), {"0"}),
        Probe("", "share a file of its own", lambda: _map(inside + "/b"), {"1"}),
        Probe("", "limit itself", lambda: resource.prlimit(0, resource.RLIMIT_CORE) and 0, {"0"}),
    ]


def _of_limits(places: Places) -> list[Probe]:
    return [
        Probe("memory", "allocate", lambda: len(bytearray(2 << 30)), {"MemoryError"}),
        Probe("address space", "reserve", lambda: _reserve(64 << 30), {"OSError"}),
        Probe("open files", "open files", _open_files, {"OSError"}),
        Probe("file size", "long file", lambda: _long_file(places.inside), {"OSError"}),
        Probe("core dumps", "dump", lambda: resource.getrlimit(resource.RLIMIT_CORE), {"(0, 0)"}),
        Probe("processes", "many processes", _many_processes, {"BlockingIOError"}),
    ]


def _of_files(places: Places) -> list[Probe]:
    outside, code = Path(places.outside), Path(sandbox.__file__).parents[2]
    inside = places.inside + "/b"
    read = "no reading of other files"
    secret = f"{places.home}/secret"
    denied_reading = {
        "read outside": lambda: _read(places.outside, "kept"),
        "list outside": lambda: os.listdir(outside),
        "read home": lambda: _read(places.home, "secret"),
        "run outside": lambda: subprocess.run([outside / "program"]),
        "run a program": lambda: subprocess.run(["/usr/bin/env"]),
        "read beside packages": lambda: _read(places.imports, "secret"),
        "read below beside packages": lambda: _read(places.imports, ".git/config"),
        "read passwords": lambda: Path("/etc/passwd").read_text(),
        "read name of machine": lambda: Path("/proc/sys/kernel/hostname").read_text(),
        "list shared memory": lambda: os.listdir("/dev/shm"),
        "read environment of parent": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "read memory of parent": lambda: open(f"/proc/{os.getppid()}/mem", "rb").close(),
        "read open files of parent": lambda: os.listdir(f"/proc/{os.getppid()}/fd"),
    }
    denied_writing: dict[str, Callable[[], object]] = {
        "write outside": lambda: _append(outside / "b"),
        "append outside": lambda: _append(outside / "kept"),
        "remove outside": lambda: os.unlink(outside / "kept"),
        "make a folder outside": lambda: os.mkdir(outside / "folder"),
        "make a link outside": lambda: os.symlink(places.inside, outside / "link"),
        "write in shared memory": lambda: _append(f"/dev/shm/ggp-test-{os.getpid()}"),
        "write modules": lambda: _append(code / "ggp_test_module.py"),
        "write kernels": lambda: _append(code / "machine" / "__pycache__" / "ggp_test.nbi"),
        "write modules of others": lambda: _append(f"{places.imports}/package/more.py"),
        "make a pipe file": lambda: os.mkfifo(f"{places.inside}/pipe"),
    }
    home = _python_reads(secret)
    moved = frozenset({"PermissionError", "OSError"})  # it seems to be on another disk
    return [
        *(Probe(read, name, action, DENIED) for name, action in denied_reading.items()),
        Probe(read, "Python reads home", lambda: _python(home), {"0"}),
        *(Probe("no writing", name, action, DENIED) for name, action in denied_writing.items()),
        Probe("no writing", "move out", lambda: os.rename(inside, outside / "b"), moved),
        Probe("no writing", "move in", lambda: os.rename(outside / "kept", inside), moved),
        Probe("no writing", "link in", lambda: os.link(outside / "kept", inside + "k"), moved),
    ]


def _of_the_rest(places: Places) -> list[Probe]:
    no_sharing, common = "no shared memory", "no system calls but common ones"
    refused = {"'EPERM'"}
    none = frozenset({"PermissionError", "OSError", "ConnectionRefusedError"})

    def internet() -> None:
        _connect(socket.AF_INET, ("127.0.0.1", 9))

    def abstract() -> None:
        _connect(socket.AF_UNIX, "\0" + places.abstract)

    def unix() -> None:
        _connect(socket.AF_UNIX, places.unix)

    in_python = "import socket; print(socket.socket())"
    caps = "CapInh", "CapPrm", "CapEff", "CapAmb"
    return [
        Probe("no network", "internet", internet, none),
        Probe("no network", "abstract socket", abstract, none),
        Probe("no network", "programs gain power", lambda: status("CapBnd").strip("0"), {"0"}),
        Probe("no TCP", "TCP", internet, DENIED),
        Probe("no abstract sockets", "abstract", abstract, DENIED),
        Probe("no sockets", "any socket", internet, DENIED),
        Probe("no sockets", "unix", unix, DENIED),
        Probe("no sockets", "Python opens a socket", lambda: _python(in_python), {"0"}),
        Probe("no signals", "signal", lambda: os.kill(os.getppid(), 0), DENIED),
        Probe("no capabilities", "capabilities", lambda: status(*caps).strip("0"), {"0"}),
        Probe("no new privileges", "privileges", lambda: status("NoNewPrivs"), {"'1'"}),
        Probe("not root but nobody", "user", lambda: "0" in status("Uid").split(), {"0"}),
        Probe(no_sharing, "memory file", _memory_file, DENIED),
        Probe(no_sharing, "shared mapping", lambda: mmap.mmap(-1, SHARED_BYTES).close(), DENIED),
        Probe(no_sharing, "zeros", lambda: open("/dev/zero", "rb").close(), DENIED),
        Probe(no_sharing, "stack", lambda: called(seccomp.MMAP, 0, 4096, 3, 0x122, -1, 0), refused),
        Probe(no_sharing, "large pipe", lambda: called(seccomp.FCNTL, 0, 1031, 1 << 20), refused),
        Probe(common, "change mode", lambda: os.chmod(places.inside + "/b", 0o600), DENIED),
        Probe(common, "change times", lambda: os.utime(places.inside + "/b", (1, 1)), DENIED),
        Probe(common, "namespace", lambda: called(seccomp.CLONE, 0x10000000 | 17), refused),
        Probe(common, "clone3", lambda: called(seccomp.CLONE3, 0, 0), {"'ENOSYS'"}),
        Probe(common, "child of server", lambda: called(seccomp.CLONE, 0x8000 | 17), refused),
        Probe(common, "limits", lambda: called(seccomp.PRLIMIT, os.getppid(), 7, 0, 0), refused),
        Probe(common, "type", lambda: called(seccomp.IOCTL, 2, 0x5412, 0), refused),
        Probe(common, "take a terminal", lambda: called(seccomp.IOCTL, 2, 0x540E, 1), refused),
        Probe(common, "type on a console", lambda: called(seccomp.IOCTL, 2, 0x541C, 0), refused),
        Probe(common, "other pairs", lambda: called(seccomp.SOCKETPAIR, 30, 1, 0, 0), refused),
        *(
            Probe(common, name, lambda of=of: called(of, *[-1] * 6), refused)  # type: ignore[misc]
            for name, of in seccomp.REFUSED.items()
        ),
        Probe(sandbox.STAYS, "leave the session", lambda: _stays(os.setsid), {"True"}),
        Probe(sandbox.STAYS, "leave the group", lambda: _stays(lambda: os.setpgid(0, 0)), {"True"}),
        Probe(sandbox.STAYS, "orphans", lambda: called(seccomp.PRCTL, 36, 0), refused),
    ]


def try_all(rights: tuple[str, ...], places: Places) -> dict[str, str]:
    """The outcome of each probe whose claim is among the rights given up."""
    outcomes = {}
    for probe in probes(places):
        if probe.claim and probe.claim not in rights:
            continue
        if not is_confined(probe.claim, places):
            outcomes[probe.name] = UNCONFINED
            continue
        try:
            outcomes[probe.name] = repr(probe.action() or 0)
        except Exception as error:
            outcomes[probe.name] = type(error).__name__
    return outcomes


def main() -> None:
    """Give up rights, run all probes, and print the outcomes; the places are an argument."""
    places = Places(*json.loads(sys.argv[1]))
    rights = sandbox.restrict(MEMORY_BYTES, [Path(places.inside)])
    print(json.dumps([rights, try_all(rights, places)]))


# ---------------------------------------------------------------- attempts


def _append(path: str | Path) -> None:
    with open(path, "a") as file:
        file.write("x")


def _map(path: str) -> int:
    """The size of a file that is mapped as shared memory."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        return len(shared)


def _read(folder: str, name: str) -> str:
    return Path(folder, name).read_text()


def _python(code: str, *, session: bool = False) -> str:
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, start_new_session=session)
    return ran.stdout


def _python_reads(path: str) -> str:
    return f"print(open({path!r}).read())"


def _connect(family: int, address: Any) -> None:
    with socket.socket(family) as connecting:
        connecting.connect(address)


def _reserve(num_bytes: int) -> None:
    mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)


def _open_files() -> int:
    return len([open(os.devnull) for _ in range(sandbox.MAX_OPEN_FILES + 44)])


def _long_file(folder: str) -> None:
    with open(Path(folder, "long"), "wb") as file:
        os.pwrite(file.fileno(), b"x", sandbox.MAX_FILE_BYTES)


def _many_processes() -> None:
    """Copies that wait for the end of a pipe; all have ended when it returns or raises."""
    reading, writing = os.pipe()
    copies = []
    try:
        for _ in range(sandbox.MAX_PROCESSES + 8):
            if (copy := os.fork()) == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            copies.append(copy)
    finally:
        os.close(writing)
        os.close(reading)
        for copy in copies:
            os.waitpid(copy, 0)


def _memory_file() -> None:
    """A file in memory of a size that limits would not count."""
    file = os.memfd_create("ggp-test")
    try:
        os.posix_fallocate(file, 0, SHARED_BYTES)
    finally:
        os.close(file)


def _stays(leave: Callable[[], object]) -> bool:
    """Whether a copy that leaves its group is still in it."""
    if (copy := os.fork()) == 0:
        group_and_session = os.getpgid(0), os.getsid(0)
        try:
            leave()
        finally:
            os._exit((os.getpgid(0), os.getsid(0)) != group_and_session)
    return os.waitpid(copy, 0)[1] == 0


if __name__ == "__main__":
    main()
