"""The supervisor keeps the socket: clients that connect while the server restarts wait."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ggp.protocol.messages import WIRE_STYLES, print_message
from ggp.protocol.reading import Request
from ggp.run import processes
from ggp.run.clocks import process_cpu_seconds
from ggp.server.http.supervisor import MAX_CHARS, ConnectionStore, KeptConnections
from tests.protocol.doubles import Referee
from tests.server.live import (
    GUESSING,
    events,
    eventually,
    is_alive,
    read_reply,
    request,
    start,
)
from tests.server.test_server import serve
from tests.support import commands
from tests.support.process_tree import entry_of, started_by

STYLE = WIRE_STYLES["gdl2"]

SERVE = ("-m", "ggp", "serve", "--player", "random")

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux tells of a process"
)


def serving(process: subprocess.Popen[str]) -> int:
    """The process that serves."""
    (pid,) = servers(process)
    return pid


def servers(process: subprocess.Popen[str]) -> list[int]:
    """The process that serves, if there is one: all children but templates of workers."""
    return [pid for pid in started_by(process.pid) if not entry_of(pid)]


def kill_and_wait(process: subprocess.Popen[str]) -> None:
    """Kill the process that serves; there is another one afterwards."""
    server = serving(process)
    os.kill(server, signal.SIGKILL)
    eventually(lambda: servers(process) not in ([], [server]))


def ask_once(port: int, body: str) -> str:
    """The reply to a message that is sent once, however long it takes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request(body))
        status, text = read_reply(connection)
        assert status == 200
        return text


@needs_proc
def test_server_that_is_killed_costs_no_move_and_no_connection(tmp_path: Path) -> None:
    process, port = serve("--log", str(tmp_path))
    referee = Referee(GUESSING, "guesser", STYLE, match_id="m")
    assert ask_once(port, print_message(referee.start, STYLE)) == "ready"
    while not referee.is_over:
        if referee.turn == 1:
            os.kill(serving(process), signal.SIGKILL)
        referee.execute(ask_once(port, print_message(referee.play(), STYLE)))  # demands a legal one
    assert ask_once(port, print_message(referee.stop(), STYLE)) == "done"
    process.terminate()
    output, errors = process.communicate(timeout=30)
    # The address is printed once, and so is each match.
    assert (process.returncode, output.count("listens on"), output.count("match m: ")) == (0, 0, 1)
    assert output.count("match m, guesser: stop after 3 turns, no faults, score") == 1
    assert errors.count("the server died (signal 9) and is being restarted\n") == 1


@needs_proc
def test_serving_process_loads_no_reasoning_libraries() -> None:
    process, port = serve()
    assert ask_once(port, "(INFO)")
    maps = Path(f"/proc/{serving(process)}/maps").read_text()
    assert [name for name in ("numpy", "scipy", "llvmlite", "swipl") if name in maps] == []
    process.terminate()
    process.communicate(timeout=30)


LISTENS_CPU_S, NAMES_MOVE_CPU_S = 0.3, 1.5
"""Most processor time of all processes together from their start on: until connections wait instead
of being refused, and until a legal move is known."""


@needs_proc
@pytest.mark.verify
def test_start_takes_little_processor_time(tmp_path: Path) -> None:
    process, port = serve("--log", str(tmp_path))
    assert ask_once(port, start("m", clocks="60 60")) == "ready"
    with ThreadPoolExecutor() as pool:
        pool.submit(ask_once, port, "(PLAY m NIL)")
        eventually(lambda: num_built(tmp_path) == 1)
        for pid in processes.family(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)
    restarted = commands.start(*SERVE, "--port", str(port), "--log", str(tmp_path))
    eventually(lambda: is_open(port))
    listens_cpu_s = cpu_s(restarted.pid)
    eventually(lambda: num_built(tmp_path) == 2)
    assert listens_cpu_s <= LISTENS_CPU_S
    assert cpu_s(restarted.pid) <= NAMES_MOVE_CPU_S
    restarted.terminate()
    restarted.communicate(timeout=30)


def num_built(folder: Path) -> int:
    """How often an understudy of the match was ready to name moves."""
    announcements = [
        e for e in events(folder, "m") if e["event"] == "worker" and e["what"] == "built"
    ]
    return [event["worker"] for event in announcements].count("understudy")


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its descendants that live."""
    return sum(map(process_cpu_seconds, processes.family(pid)))


def test_unknown_player_is_reported_after_the_socket_was_opened() -> None:
    program = (
        "import os, time; from ggp.console import guarded; from ggp.errors import ConfigError\n"
        "from ggp.server.http.supervisor import stay_up\n"
        "def check():\n    raise ConfigError('no such player')\n"
        "guarded(stay_up)(None, check).tell_open()\n"
        "time.sleep(60)"
    )
    process = commands.start("-c", program)
    assert process.communicate(timeout=30) == ("", "error: no such player\n")
    assert process.returncode == 2


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_server_ends_with_the_process_that_keeps_its_socket(number: int) -> None:
    process, port = serve()
    server = serving(process)
    process.send_signal(number)
    process.communicate(timeout=30)
    eventually(lambda: not is_alive(server))
    with pytest.raises(ConnectionRefusedError):
        ask_once(port, "(INFO)")


IN_ANOTHER_THREAD = """
import os, signal, socket, threading, time
from ggp.server.http.supervisor import ConnectionStore, KeptConnections

def interrupt():
    time.sleep(0.5)  # when the other thread waits
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

thread = threading.Thread(target=interrupt)
"""

KEEPS = """
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
signal.signal(signal.SIGTERM, lambda *_: theirs.close())
thread.start()
ConnectionStore().follow(ours)
"""

SERVES = """
import asyncio
from ggp.server.host import Host
from ggp.server.http.http_server import HttpServer
from ggp.server.settings import HostOptions
from ggp.run.processes import ended_by
from ggp.run.sockets import listen

server = HttpServer(Host(HostOptions("random")))
with ended_by(lambda *_: server.stop()), listen("127.0.0.1", 0) as listening:
    thread.start()
    asyncio.run(server.serve(listening))
"""


@pytest.mark.parametrize("program", [KEEPS, SERVES], ids=["keeps", "serves"])
def test_signal_that_arrives_in_another_thread_is_heeded(program: str) -> None:
    process = commands.start("-c", IN_ANOTHER_THREAD + program)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.verify
@needs_proc
def test_terminated_server_is_not_restarted() -> None:
    process, _ = serve()
    os.kill(serving(process), signal.SIGTERM)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("how", "cause"),
    [("abort()", "signal 6"), ("_exit(3)", "exit status 3")],
    ids=["signal", "exit"],
)
def test_server_that_keeps_dying_is_given_up(how: str, cause: str) -> None:
    program = (
        "from ggp.console import guarded; import os; "
        "from ggp.server.http.supervisor import stay_up; "
        f"guarded(stay_up)(); os.{how}"
    )
    process = commands.start("-c", program)
    output, errors = process.communicate(timeout=30)
    *warnings, error = errors.splitlines()
    assert (process.returncode, output) == (1, "")
    assert error.startswith(
        f"error: the server died 10 times within 10 s, the last time by {cause};"
    )
    assert warnings == [f"the server died ({cause}) and is being restarted"] * 9


@needs_proc
@pytest.mark.verify
def test_question_survives_the_death_of_the_server(tmp_path: Path) -> None:
    process, port = serve("--log", str(tmp_path), "--player", "hyperplay:n=2")
    assert ask_once(port, start("m", clocks="60 6")) == "ready"
    with ThreadPoolExecutor() as pool:
        move = pool.submit(ask_once, port, "(PLAY m NIL)")
        eventually(lambda: any("PLAY" in e.get("text", "") for e in events(tmp_path, "m")))
        for _ in range(2):
            kill_and_wait(process)
        assert move.result() in ("(guess 0)", "(guess 1)")
    assert ask_once(port, "(STOP m (guess 0) ())") == "done"
    decisions = [e for e in events(tmp_path, "m") if e["event"] == "decision"]
    assert [(e["turn"], e["fault"]) for e in decisions] == [(0, None)]


def test_connection_is_kept_until_it_has_its_answer() -> None:
    shelf = ConnectionStore()
    channel = shelf.open()
    if channel is None:
        pytest.skip("the system has no such channels")
    theirs, ours = channel
    near, far = socket.socketpair()
    custody = KeptConnections(theirs)
    with custody.keeping(near.fileno(), Request("(PLAY a NIL)", 1.5)):
        pass
    question = Request("(PLAY b NIL)", 2.5, "10.0.0.1:4000", "me")
    waiting = custody.keeping(near.fileno(), question)
    waiting.__enter__()
    with custody.keeping(near.fileno(), Request("x" * (MAX_CHARS + 1), 3.5)):
        theirs.close()  # the server dies
    near.close()
    shelf.follow(ours)
    ((number, connection),) = shelf.inherited().items()
    assert (number, connection.request) == (2, question)
    connection.socket.sendall(b"answer")
    assert far.recv(10) == b"answer"
    far.setblocking(False)
    with pytest.raises(BlockingIOError):  # it is still open
        far.recv(10)
    ours.close()
    far.close()
    connection.socket.close()


@pytest.mark.verify
@needs_proc
def test_flood_of_silent_connections_costs_no_answer_where_descriptors_are_few(
    tmp_path: Path,
) -> None:
    with few_descriptors(256):
        process, port = serve("--log", str(tmp_path))
    referee = Referee(GUESSING, "guesser", STYLE, match_id="m")
    with flood(port):
        assert ask_once(port, print_message(referee.start, STYLE)) == "ready"
        while not referee.is_over:
            referee.execute(ask_once(port, print_message(referee.play(), STYLE)))
        assert ask_once(port, print_message(referee.stop(), STYLE)) == "done"
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert 1 <= errors.count("too many connections") < 20


@contextlib.contextmanager
def few_descriptors(number: int) -> Iterator[None]:
    """Processes that are started in the block may open only so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def flood(port: int) -> Iterator[None]:
    """Five hundred connections a second that send nothing; the last five hundred stay open."""
    silent: deque[socket.socket] = deque()
    ends = threading.Event()

    def connect() -> None:
        while not ends.wait(0.002):
            silent.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            if len(silent) > 500:
                silent.popleft().close()

    thread = threading.Thread(target=connect)
    thread.start()
    try:
        yield
        eventually(lambda: len(silent) >= 500)
    finally:
        ends.set()
        thread.join()
        for connection in silent:
            connection.close()
