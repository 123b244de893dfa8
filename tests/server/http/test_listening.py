"""The listening socket: opened first, or inherited from systemd, which keeps it over restarts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ggp.server
from ggp.errors import ConfigError
from ggp.run.sockets import BACKLOG, listen
from ggp.server.http import listening
from ggp.server.http.http_server import waited_s
from ggp.server.settings import ServerLimits
from tests.server.live import read_reply, request, start
from tests.support import commands
from tests.support.games import REPOSITORY
from tests.support.process_tree import started_by

UNITS = Path(ggp.server.__file__).parent / "systemd"
LISTENS = """
import sys
from ggp.server.http.listening import listen_early
listen_early(["-v", "serve", "--player", "random", "--port={port}"])
print(*sys.modules)
"""

HANDS_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""

INHERITS = """
import os, sys
from ggp.errors import ConfigError
from ggp.server.http.listening import listening_on
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2])
try:
    listening_on("127.0.0.1", 0)
except ConfigError as error:
    print(error)
"""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux tells of a process"
)


class Manager:
    """Plays the part of systemd: holds the socket, receives notifications, kills and restarts.

    Attributes:
        port: where the socket listens.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.port = self._listening.getsockname()[1]
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(str(folder / "notify"))
        self._notified.settimeout(60)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """`ggp serve` with the socket; returns at once."""
        number = self._listening.fileno()
        command = ["-m", "ggp", "serve", "--player", "random", *options]
        return subprocess.Popen(
            [
                *(sys.executable, "-c", HANDS_OVER, str(number)),
                *(*command, "--log", str(self._folder / "logs")),
            ],
            env={**os.environ, "NOTIFY_SOCKET": str(self._folder / "notify")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(number,),
            text=True,
        )

    def notification(self) -> str:
        """The next notification of the server."""
        return self._notified.recv(1000).decode()

    def send(self, body: str) -> socket.socket:
        """A connection on which a message was sent; a server may answer it later."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(request(body))
        return connection

    def close(self) -> None:
        self._listening.close()
        self._notified.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    systemd = Manager(tmp_path)
    yield systemd
    systemd.close()


def kill_tree(process: subprocess.Popen[str]) -> None:
    """Kill a process and all its descendants, all at once."""
    pids = [process.pid]
    for pid in pids:
        pids += started_by(pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
    process.communicate(timeout=30)


def answer(connection: socket.socket) -> str:
    with connection:
        status, text = read_reply(connection)
        assert status == 200
        return text


@pytest.mark.verify
@needs_proc
def test_nobody_is_refused_while_all_processes_are_killed_and_restarted(
    manager: Manager,
) -> None:
    first = manager.start()
    assert answer(manager.send(start("m"))) == "ready"
    assert manager.notification() == "READY=1"
    kill_tree(first)
    waits = manager.send("(PLAY m 0 NIL NIL)")  # nobody is there
    # More than may be open at once, none of which has anything to be blamed for.
    connections = [manager.send("(INFO)") for _ in range(ServerLimits().connections + 32)]
    second = manager.start()
    assert answer(waits) in ("(guess 0)", "(guess 1)")
    assert {answer(connection)[:11] for connection in connections} == {"((name ggp)"}
    assert manager.notification() == "READY=1"
    assert second.stdout is not None
    assert second.stdout.readline().endswith(f"listens on http://127.0.0.1:{manager.port}\n")
    second.terminate()
    second.communicate(timeout=30)
    assert (second.returncode, manager.notification()) == (0, "STOPPING=1")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_clock_begins_when_a_message_arrives_not_when_it_is_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.sendall(request("(INFO)"))
        time.sleep(0.2)  # the measured time
        with client, listener.accept()[0] as connection:
            assert waited_s(connection) >= 0.19


def test_socket_listens_before_anything_slow_is_imported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = commands.start("-c", LISTENS.format(port=port))
    modules, errors = process.communicate(timeout=30)
    assert errors == ""
    slow = {"click", "numpy", "asyncio", "lark", "ggp.cli", "ggp.gdl", "ggp.errors"}
    assert "ggp.server.http.listening" in modules.split()
    assert not slow & {*modules.split()}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[socket.socket]]:
    """The sockets that are opened in a test, in order."""
    sockets: list[socket.socket] = []

    def record(address: str, port: int) -> socket.socket:
        sockets.append(listen(address, port))
        return sockets[-1]

    monkeypatch.setattr(listening, "listen", record)
    yield sockets
    for listener in sockets:
        listener.close()


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["serve"], ("127.0.0.1", 9147)),
        (["-v", "serve", "--port", "80", "--host=::1"], ("::1", 80)),
        (["serve", "--port=1", "--port", "2"], ("127.0.0.1", 2)),
        (["serve", "--port", "many"], None),
        (["serve", "--port"], None),
        (["serve", "--help"], None),
        (["info", "serve"], None),
        ([], None),
    ],
)
def test_command_line_says_where_to_listen(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], address: tuple[str, int] | None
) -> None:
    addresses: list[tuple[str, int]] = []

    def refuse(host: str, port: int) -> None:
        addresses.append((host, port))
        raise ConfigError("nothing is opened")

    monkeypatch.setattr(listening, "listen", refuse)
    listening.listen_early(arguments)
    assert addresses == ([] if address is None else [address])


def test_socket_that_was_opened_early_is_used_at_its_address(opened: list[socket.socket]) -> None:
    start_s = time.monotonic()
    listening.listen_early(["serve", "--port", "0"])
    end_s = time.monotonic()
    listener, heard_since_s = listening.listening_on("127.0.0.1", 0)
    assert opened == [listener]
    assert start_s <= heard_since_s <= end_s


def test_socket_that_was_opened_early_is_closed_where_another_is_needed(
    opened: list[socket.socket],
) -> None:
    listening.listen_early(["serve", "--port", "0"])
    end_s = time.monotonic()
    listener, heard_since_s = listening.listening_on("localhost", 0)
    early, late = opened
    assert listener is late
    assert heard_since_s >= end_s
    assert early.fileno() == -1
    assert listening.listening_on("127.0.0.1", 0)[0] is opened[2]


@pytest.mark.parametrize(("listens", "number"), [(False, "1"), (True, "2"), (True, "none")])
def test_inherited_descriptor_must_be_one_listening_socket(listens: bool, number: str) -> None:
    with socket.socket() as inherited:
        if listens:
            inherited.listen()
        command = [sys.executable, "-c", INHERITS, str(inherited.fileno()), number]
        child = subprocess.run(
            command, pass_fds=[inherited.fileno()], capture_output=True, text=True
        )
    assert child.stdout.startswith(f"LISTEN_FDS={number} must stand for one"), child.stderr


def test_sockets_of_another_process_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_PID", "1")
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert listening.socket_handed_over() is None


def test_missing_service_manager_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("/nowhere/at/all", "@nobody-listens-here", "x" * 500):
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        listening.tell(READY="1")


def test_units_point_to_pages_that_exist() -> None:
    pages = [page for unit in UNITS.iterdir() for page in re.findall(r"docs/\S+", unit.read_text())]
    assert pages
    for page in pages:
        assert (REPOSITORY / page).is_file(), page


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd")
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/ggp/bin/ggp", sys.executable)
        (tmp_path / unit.name).write_text(text)
    files = sorted(map(str, tmp_path.iterdir()))
    assert [Path(path).name for path in files] == ["ggp.service", "ggp.socket"]
    checked = subprocess.run([analyze, "verify", *files], capture_output=True, text=True)
    ours = [line for line in checked.stderr.splitlines() if "ggp." in line]
    assert (checked.returncode, ours) == (0, [])


def test_units_start_the_command_of_the_package() -> None:
    service_text = (UNITS / "ggp.service").read_text()
    (command,) = re.findall(r"^ExecStart=(.*)$", service_text, re.MULTILINE)
    program, subcommand, *_ = command.split()
    assert (Path(program).name, subcommand) == ("ggp", listening.COMMAND)
    port = re.search(
        r"^ListenStream=127\.0\.0\.1:(\d+)$", (UNITS / "ggp.socket").read_text(), re.MULTILINE
    )
    assert port is not None
    assert int(port.group(1)) == listening.DEFAULT_PORT
    settings = ("Type=notify", "Restart=always", "RestartSec=100ms", "NoNewPrivileges=yes")
    for setting in (*settings, "DynamicUser=yes", "StateDirectory=ggp", "CacheDirectory=ggp"):
        assert f"\n{setting}\n" in service_text
