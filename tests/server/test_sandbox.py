"""Every claim of the sandbox is tried: a process gives its rights up, and then wants to use them.

What the system of the tests does not offer is not claimed, and its tests are skipped.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ggp import children
from ggp.server import seccomp
from tests.support.games import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what is used")

PROGRAM = """
import ctypes, errno, json, os, platform, resource, socket, subprocess, sys, threading
from pathlib import Path
from ggp.server import privileges, sandbox, seccomp
{changes}
inside, outside, home, unix, abstract = {places!r}
rights = sandbox.restrict(1 << 30, [Path(inside)])
libc = ctypes.CDLL(None, use_errno=True)
outcomes = {{}}

def probe(name, action):
    try:
        outcomes[name] = repr(action() or 0)
    except Exception as error:
        outcomes[name] = type(error).__name__

def called(numbers, *arguments):
    # Never without the filter: what is refused by it would do something else.
    number = numbers[platform.machine() == "aarch64"]
    if status("Seccomp") != "2":
        return "no filter"
    if number is None:
        return "EPERM"
    given = [ctypes.c_void_p(each) for each in arguments]
    return "done" if libc.syscall(number, *given) >= 0 else errno.errorcode[ctypes.get_errno()]

def connect(family, address):
    with socket.socket(family) as connecting:
        connecting.connect(address)

def append(path):
    with open(path, "a") as file:
        file.write("x")

def status(*names):
    lines = Path("/proc/self/status").read_text().splitlines()
    return "".join(line.partition(":")[2].strip() for line in lines if line.split(":")[0] in names)

def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout

probe("write inside", lambda: append(inside + "/a"))
probe("read inside", lambda: Path(inside, "a").read_text())
probe("rename inside", lambda: os.replace(inside + "/a", inside + "/b"))
probe("touch inside", lambda: os.utime(inside + "/b"))
probe("write outside", lambda: append(outside + "/b"))
probe("append outside", lambda: append(outside + "/kept"))
probe("remove outside", lambda: os.unlink(outside + "/kept"))
probe("read outside", lambda: Path(outside, "kept").read_text())
probe("list outside", lambda: os.listdir(outside))
probe("read home", lambda: Path(home, "secret").read_text())
probe("run outside", lambda: subprocess.run([outside + "/program"]))
probe("read passwords", lambda: Path("/etc/passwd").read_text())
probe("read environment", lambda: Path(f"/proc/{{os.getppid()}}/environ").read_bytes())
probe("read library", lambda: len(Path(json.__file__).read_text()) > 0)
probe("start thread", lambda: threading.Thread(target=int).start())
probe("start program", lambda: python("import clingo, sys; print('runs')"))
probe("program reads home", lambda: python(f"print(open({{home + '/secret'!r}}).read())"))
probe("program opens socket", lambda: python("import socket; print(socket.socket())"))
probe("allocate", lambda: len(bytearray(2 << 30)))
probe("files", lambda: [open("/dev/null") for _ in range(300)])
probe("internet", lambda: connect(socket.AF_INET, ("127.0.0.1", 9)))
probe("unix", lambda: connect(socket.AF_UNIX, unix))
probe("abstract", lambda: connect(socket.AF_UNIX, chr(0) + abstract))
probe("pair", lambda: [each.close() for each in socket.socketpair()] and 0)
probe("signal", lambda: os.kill(os.getppid(), 0))
probe("capabilities", lambda: status("CapInh", "CapPrm", "CapEff", "CapAmb").strip("0"))
probe("bound", lambda: status("CapBnd").strip("0"))
probe("privileges", lambda: status("NoNewPrivs"))
probe("user", lambda: status("Uid"))
probe("calls", lambda: {{n: called(each, *[-1] * 6) for n, each in seccomp._CALLS.items()}})
probe("change mode", lambda: os.chmod(inside + "/b", 0o600))
probe("change times", lambda: os.utime(inside + "/b", (1, 1)))
probe("clone a namespace", lambda: called(seccomp._CLONE, 0x10000000 | 17))
probe("clone3", lambda: called(seccomp._CLONE3, 0, 0))
probe("limit others", lambda: called(seccomp._PRLIMIT, os.getppid(), 7, 0, 0))
probe("limit itself", lambda: resource.prlimit(0, resource.RLIMIT_CORE) and 0)
print(json.dumps([rights, outcomes]))
"""

DENIED = {"PermissionError"}


@dataclass(frozen=True, slots=True)
class Confined:
    """What a process said that gave up its rights.

    Attributes:
        rights: it claims to have given up.
        outcomes: of what it tried: the `repr` of what it got, or the name of an exception.
    """

    rights: tuple[str, ...]
    outcomes: dict[str, str]


def confined(place: Path, changes: str = "") -> Confined:
    """A process that gives up its rights, after some changes to the modules that do it."""
    abstract = f"ggp-test-{os.getpid()}"
    inside, outside, home, unix = (str(place / each) for each in ("in", "out", "home", "unix"))
    program = PROGRAM.format(changes=changes, places=(inside, outside, home, unix, abstract))
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as nameless:
        for listening, address in ((named, unix), (nameless, f"\0{abstract}")):
            listening.bind(address)
            listening.listen()
        os.chmod(unix, 0o777)
        paths = os.pathsep.join((str(REPOSITORY), os.environ.get("PYTHONPATH", "")))
        environment = {**children.environment(), "HOME": home, "PYTHONPATH": paths}
        found = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        os.unlink(unix)
    assert found.returncode == 0, found.stderr
    rights, outcomes = json.loads(found.stdout)
    return Confined(tuple(rights), outcomes)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Folders that everybody may enter, `nobody` too."""
    folder = Path(tempfile.mkdtemp(prefix="ggp-test-"))
    folder.chmod(0o755)
    for name in ("in", "out", "home"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    (folder / "out" / "kept").write_text("kept")
    (folder / "home" / "secret").write_text("secret")
    (folder / "out" / "program").write_text("#!/bin/sh\n")
    (folder / "out" / "program").chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def tried(place: Path) -> Confined:
    return confined(place)


@pytest.mark.parametrize(
    ("claim", "what", "ends"),
    [
        ("memory", "allocate", {"MemoryError"}),
        ("open files", "files", {"OSError"}),
        ("no network", "internet", {"PermissionError", "OSError", "ConnectionRefusedError"}),
        ("no network", "abstract", {"PermissionError", "ConnectionRefusedError"}),
        ("no capabilities", "capabilities", {"0"}),
        ("no network", "bound", {"0"}),  # where there is the right to leave one, to this as well
        ("no new privileges", "privileges", {"'1'"}),
        *(
            ("no reading of other files", what, DENIED)
            for what in ("read outside", "list outside", "read home", "run outside")
        ),
        ("no reading of other files", "read passwords", DENIED),
        ("no reading of other files", "read environment", DENIED),
        ("no reading of other files", "program reads home", {"0"}),
        *(
            ("no writing", what, DENIED)
            for what in ("write outside", "append outside", "remove outside")
        ),
        ("no TCP", "internet", DENIED),
        ("no abstract sockets", "abstract", DENIED),
        ("no signals", "signal", DENIED),
        *(("no sockets", what, DENIED) for what in ("internet", "unix", "abstract")),
        ("no sockets", "program opens socket", {"0"}),
        ("no system calls but common ones", "change mode", DENIED),
        ("no system calls but common ones", "change times", DENIED),
        ("no system calls but common ones", "clone a namespace", {"'EPERM'"}),
        ("no system calls but common ones", "clone3", {"'ENOSYS'"}),
        ("no system calls but common ones", "limit others", {"'EPERM'"}),
    ],
)
def test_what_was_given_up_cannot_be_done(
    tried: Confined, claim: str, what: str, ends: set[str]
) -> None:
    if claim not in tried.rights:
        pytest.skip(f"not claimed here: {claim}")
    assert tried.outcomes[what] in ends


@pytest.mark.parametrize("name", seccomp._CALLS)
def test_call_is_refused(tried: Confined, name: str) -> None:
    if "no system calls but common ones" not in tried.rights:
        pytest.skip("the kernel has no filters")
    assert f"'{name}': 'EPERM'" in tried.outcomes["calls"]


@pytest.mark.parametrize(
    ("what", "got"),
    [
        ("write inside", "0"),
        ("read inside", "'x'"),
        ("rename inside", "0"),
        ("touch inside", "0"),
        ("read library", "True"),
        ("start thread", "0"),
        ("start program", "'runs\\n'"),
        ("pair", "0"),
        ("limit itself", "0"),
    ],
)
def test_what_work_needs_can_be_done(tried: Confined, what: str, got: str) -> None:
    assert tried.outcomes[what] == got


def test_root_becomes_nobody_or_the_interpreter_is_hidden_from_others(tried: Confined) -> None:
    if os.getuid() != 0:
        assert "not root but nobody" not in tried.rights
    elif "not root but nobody" in tried.rights:
        assert "'0" not in tried.outcomes["user"]
    else:
        command = [sys.executable, "-c", "import ggp"]
        with pytest.raises((PermissionError, subprocess.CalledProcessError)):
            subprocess.run(command, user="nobody", extra_groups=[], check=True)


def test_landlock_alone_keeps_sockets_closed(place: Path) -> None:
    # As where no network namespace can be had, and the machine has no table of calls.
    without = "privileges.leave_network = privileges.leave_network_alone = lambda libc: False; "
    tried = confined(place, without + "seccomp.refuse_calls = lambda libc: False")
    assert not {"no network", "no sockets"} & {*tried.rights}
    if "no TCP" in tried.rights:
        assert tried.outcomes["internet"] == "PermissionError"
    if "no abstract sockets" in tried.rights:
        assert tried.outcomes["abstract"] == "PermissionError"
    assert tried.outcomes["unix"] == "0"  # which the filter of calls is for


def test_filter_alone_keeps_sockets_closed(place: Path) -> None:
    # As in a container, where no namespace can be had, with an old kernel.
    without = "privileges.leave_network = privileges.leave_network_alone = lambda libc: False; "
    tried = confined(place, without + "sandbox.landlock.confine = lambda *_, **__: ()")
    assert not {"no network", "no TCP"} & {*tried.rights}
    if "no sockets" not in tried.rights:
        pytest.skip("the kernel has no filters")
    for what in ("internet", "unix", "abstract"):
        assert tried.outcomes[what] == "PermissionError"


def test_kernels_that_are_imported_late_are_read_from_the_cache() -> None:
    # An understudy has given its rights up when it needs numba.
    program = """
from ggp.server.sandbox import restrict
restrict(1 << 30, [])
from ggp.machine.row_kernels import number_rows, place_rows
print(place_rows.dispatcher.stats.cache_path, number_rows.dispatcher.stats.cache_path)
"""
    own = children.environment()
    found = subprocess.run([sys.executable, "-c", program], env=own, capture_output=True, text=True)
    assert [Path(folder).is_dir() for folder in found.stdout.split()] == [True, True], found.stderr


def test_machine_without_a_table_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not seccomp.refuse_calls(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "x86_64-linux-gnu/asm/unistd_64.h"), (1, "asm-generic/unistd.h")],
    ids=["x86_64", "aarch64"],
)
def test_numbers_of_calls_are_those_of_the_system(column: int, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("the headers of the kernel are not installed")
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    numbers = {name: int(number) for name, number in defined}
    ours = {**seccomp._CALLS, "clone": seccomp._CLONE, "clone3": seccomp._CLONE3}
    ours |= {"prlimit64": seccomp._PRLIMIT, "utimensat": seccomp._UTIMENSAT}
    told = {name: each[column] for name, each in ours.items()}
    assert {n: x for n, x in told.items() if n in numbers and x is not None} == {
        n: x for n, x in numbers.items() if n in told
    }
