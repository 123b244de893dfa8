"""Every claim of the sandbox is tested: a process gives up its rights, and then tries to use them.

`probes` has the attempts for each claim; docs/reference/security.md explains the claims. If the
system that runs the tests lacks a mechanism, its claims are not made, and their tests are skipped.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import pwd
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

from ggp.run import processes
from ggp.server.confinement import landlock, sandbox, seccomp
from ggp.server.confinement.landlock import SYSTEM, readable
from tests.server.confinement.probes import UNCONFINED, Places, Probe, is_filtered, probes, try_all
from tests.support.games import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what is used")

SECURITY = REPOSITORY / "docs" / "reference" / "security.md"
PROBES = {probe.name: probe for probe in probes(Places.below(Path("/nowhere")))}
LANDLOCKED = {landlock.NO_READING, "no writing", "no TCP", "no abstract sockets", "no signals"}
CLAIMS = {probe.claim for probe in PROBES.values()} - {""}


@dataclass(frozen=True, slots=True)
class Confined:
    """The report of a process that gave up its rights.

    Attributes:
        rights: the rights that it claims to have given up.
        outcomes: of its probes, by name: the `repr` of a value, or the name of an exception.
    """

    rights: tuple[str, ...]
    outcomes: dict[str, str]

    def kept_to(self, probe: Probe) -> bool:
        return self.outcomes[probe.name] in probe.ends


def confined(place: Path, changes: str = "pass") -> Confined:
    """The report of a process that gives up its rights, after changes to the modules for that."""
    abstract = f"ggp-test-{os.getpid()}"
    places = Places.below(place, abstract)
    program = f"""
from ggp.server.confinement import sandbox, seccomp
from tests.server.confinement.probes import main
{changes}
main()
"""
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as nameless:
        for listening, address in ((named, places.unix), (nameless, f"\0{abstract}")):
            listening.bind(address)
            listening.listen()
        os.chmod(places.unix, 0o777)
        foreign = os.environ.get("PYTHONPATH", "")
        paths = os.pathsep.join((str(REPOSITORY), places.imports, foreign))
        child = subprocess.run(
            [sys.executable, "-c", program, json.dumps(places)],
            env={**processes.environment(), "HOME": places.home, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            cwd=place,
        )
        os.unlink(places.unix)
    assert child.returncode == 0, child.stderr
    rights, outcomes = json.loads(child.stdout)
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
    package = folder / "imports" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "data").write_text("data")
    (folder / "imports" / "secret").write_text("secret")
    (folder / "imports" / ".git").mkdir()
    (folder / "imports" / ".git" / "config").write_text("secret")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def confined_child(place: Path) -> Confined:
    return confined(place)


@pytest.mark.parametrize("name", PROBES)
def test_dropped_rights_are_gone_and_needed_ones_remain(
    confined_child: Confined, name: str
) -> None:
    probe = PROBES[name]
    if probe.claim and probe.claim not in confined_child.rights:
        pytest.skip(f"not claimed here: {probe.claim}")
    assert confined_child.kept_to(probe), confined_child.outcomes[name]


def test_every_claim_has_probes_and_a_row_in_the_documentation() -> None:
    listed = re.findall(r"^\| `([^`]+)` ", section("### Claims"), re.M)
    claims = "; ".join(re.findall(r'"([a-z][a-zA-Z ]+)"', inspect.getsource(sandbox)))
    assert len(listed) == len(CLAIMS)
    assert set(listed) == CLAIMS
    assert all(claim in claims or claim in LANDLOCKED for claim in CLAIMS)


def section(heading: str) -> str:
    """Tables of docs/reference/security.md below a heading."""
    text = SECURITY.read_text(encoding="utf-8").partition(heading)[2]
    return "\n".join(line for line in text.partition("\n#")[0].splitlines() if line[:1] == "|")


def test_readable_system_files_are_those_of_the_documentation() -> None:
    assert {*re.findall(r"`(/[^`]*)`", section("### What workers read"))} >= {*SYSTEM}


def test_tests_that_the_documentation_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", SECURITY.read_text(encoding="utf-8"))
    assert len(named) >= 8
    for path, name in named:
        assert f"def {name}(" in (REPOSITORY / path).read_text(encoding="utf-8"), (path, name)


def test_probe_does_nothing_in_an_unconfined_process(place: Path) -> None:
    places = Places.below(place)
    assert not is_filtered()
    outcomes = try_all(tuple(CLAIMS), places)
    carried_out = {
        PROBES[name].claim for name, outcome in outcomes.items() if outcome != UNCONFINED
    }
    # Such a limit may be there without us.
    assert carried_out <= {"", "core dumps"}
    assert len(outcomes) == len(PROBES)
    assert sorted(path.name for path in (place / "out").iterdir()) == ["kept", "program"]


def test_process_with_a_second_thread_claims_no_dropped_rights(place: Path) -> None:
    starts = "import threading; threading.Thread(target=threading.Event().wait, daemon=True)"
    child = confined(place, f"{starts}.start()")
    assert child.rights == ("nothing: another thread had begun",)
    assert len([*sandbox.gaps(child.rights)]) == 2


def test_root_becomes_nobody_or_the_interpreter_is_hidden_from_others(
    confined_child: Confined,
) -> None:
    if os.getuid() != 0:
        assert "not root but nobody" not in confined_child.rights
    elif "not root but nobody" in confined_child.rights:
        assert confined_child.outcomes["user"] == "0"
    else:
        command = [sys.executable, "-c", "import ggp"]
        with pytest.raises((PermissionError, subprocess.CalledProcessError)):
            subprocess.run(command, user="nobody", extra_groups=[], check=True)


WITHOUT_NETWORK = "sandbox.enter_namespaces = lambda libc, kinds: False; "


def test_landlock_alone_keeps_sockets_closed(place: Path) -> None:
    # As where no network namespace can be had, and the machine has no table of seccomp.
    child = confined(place, WITHOUT_NETWORK + "seccomp.refuse_calls = lambda libc: False")
    assert not {"no network", "no sockets", "no shared memory"} & {*child.rights}
    assert "memory file" not in child.outcomes
    for name in ("TCP", "abstract"):
        if PROBES[name].claim in child.rights:
            assert child.kept_to(PROBES[name])


def test_filter_alone_keeps_sockets_closed(place: Path) -> None:
    # As in a container, where no namespace can be had, with an old kernel.
    child = confined(place, WITHOUT_NETWORK + "sandbox.landlock.confine = lambda *_, **__: ()")
    assert not {"no network", "no TCP", "no writing"} & {*child.rights}
    if "no sockets" not in child.rights:
        pytest.skip("the kernel has no filters")
    for name in ("any socket", "unix", "memory file", "shared mapping"):
        assert child.kept_to(PROBES[name])


def test_kernels_that_are_imported_late_are_read_from_the_cache() -> None:
    # An understudy has given its rights up when it needs numba.
    program = """
from ggp.server.confinement.sandbox import restrict
restrict(1 << 30, [])
from ggp.machine.rows import number_rows, place_rows
print(place_rows.dispatcher.stats.cache_path, number_rows.dispatcher.stats.cache_path)
"""
    environment = processes.environment()
    child = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert [Path(folder).is_dir() for folder in child.stdout.split()] == [True, True], child.stderr


def test_folder_for_circuits_that_holds_code_is_not_written(tmp_path: Path) -> None:
    with_code = ["imports/package", "imports", "kernels/more", "kernels", "."]
    for name in (*with_code, "circuits"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "imports" / "package" / "__init__.py").touch()
    program = f"""
import os, sys
from pathlib import Path
from ggp.machine.compiling.disk_cache import STORE_VARIABLE
from ggp.server.confinement.sandbox import restrict
for name in sys.argv[1:]:
    if os.fork() == 0:
        restrict(1 << 30, [Path({str(tmp_path)!r}, name)])
        print(name, os.environ.get(STORE_VARIABLE), flush=True)
        os._exit(0)
    os.wait()
"""
    environment = {
        **processes.environment(),
        "PYTHONPATH": os.pathsep.join((str(tmp_path / "imports"), str(REPOSITORY))),
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
    }
    command = [sys.executable, "-c", program, *with_code, "circuits"]
    child = subprocess.run(command, env=environment, capture_output=True, text=True)
    refused = [f"{name} None" for name in with_code]
    assert child.stdout.splitlines() == [*refused, f"circuits {tmp_path / 'circuits'}"], (
        child.stderr
    )


def test_worker_reads_code_but_not_the_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home/imports/package/__init__.py", "home/imports/module.py", "home/imports/.env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    imports, home = tmp_path / "home" / "imports", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "path", [str(home), str(tmp_path), str(imports)])
    grants = readable()
    below_folder = {path for path in grants.paths if path.is_relative_to(tmp_path)}
    caches = {*grants.kernels, *grants.circuits}
    assert below_folder - caches == {imports / "package", imports / "module.py"}
    assert imports in grants.listed
    assert home not in grants.listed


def test_user_without_a_home_reads_no_kernels_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGP_CACHE_DIR", "/tmp/circuits")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/tmp/kernels")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", _nobody_is_known)
    assert readable().kernels == [Path("/tmp/kernels")]


def _nobody_is_known(uid: int) -> None:
    raise KeyError(uid)


def test_architecture_without_a_table_of_system_calls_has_no_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not seccomp.refuse_calls(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "x86_64-linux-gnu/asm/unistd_64.h"), (1, "asm-generic/unistd.h")],
    ids=["x86_64", "aarch64"],
)
def test_system_call_numbers_match_the_kernel_headers(column: int, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("the headers of the kernel are not installed")
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    numbers = {name: int(number) for name, number in defined}
    ours = {**seccomp.REFUSED, **seccomp.STAYING, "clone": seccomp.CLONE, "clone3": seccomp.CLONE3}
    ours |= {"prlimit64": seccomp.PRLIMIT, "utimensat": seccomp.UTIMENSAT, "mmap": seccomp.MMAP}
    ours |= {"fcntl": seccomp.FCNTL, "ioctl": seccomp.IOCTL, "prctl": seccomp.PRCTL}
    ours |= {"socketpair": seccomp.SOCKETPAIR}
    claimed = {name: columns[column] for name, columns in ours.items()}
    assert {n: x for n, x in claimed.items() if n in numbers and x is not None} == {
        n: x for n, x in numbers.items() if n in claimed
    }
