"""Compiles all kernels of a player before there is a match, in a process of its own.

Confined workers must not write to the cache of machine code, because every reader runs that code;
so without this they would compile for half a minute in every match. The compiling process never
sees a stranger's rules: it plays examples. Afterwards a note lists the files in the cache. While
they exist, the next start skips the compilation.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ggp.machine
from ggp.errors import BackendUnavailableError, GGPError
from ggp.machine.compiling.disk_cache import user_cache
from ggp.machine.compiling.kernel_version import kernels_version
from ggp.protocol.path import History, PathTurn
from ggp.run import calls, processes
from ggp.run.calls import Child, ChildLostError
from ggp.server.workers.orders import Setup, Think

if TYPE_CHECKING:
    from ggp.server.workers.worker_match import WorkerMatch

_EXAMPLE = """
(role xplayer) (role random) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal xplayer (guess ?x)) (succ ?x ?y)) (<= (legal random (pick ?x)) (succ ?x ?y))
(<= (sees xplayer (told ?x)) (does random (pick ?x)) (true (step 0)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next right) (does xplayer (guess ?x)) (does random (pick ?x)))
(<= terminal (true (step 3))) (<= (goal xplayer 100) (true right))
(<= (goal xplayer 0) (not (true right))) (goal random 0)
"""
"""A game that needs every kernel, except those for games of complete information."""

OPEN_EXAMPLE = """
(role xplayer) (role oplayer) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?r (pick ?x)) (role ?r) (succ ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next same) (does xplayer (pick ?x)) (does oplayer (pick ?x)))
(<= terminal (true (step 3))) (<= (goal xplayer 100) (true same))
(<= (goal xplayer 0) (not (true same))) (goal oplayer 50)
"""

_HIDDEN_EXAMPLE = f"{OPEN_EXAMPLE} (<= (sees xplayer same) (true same))"
"""A game for two roles who know different things."""

_FIRST_TURNS = {
    _EXAMPLE: PathTurn("(guess 0)", ("(told 0)",), "(guess 0)", True),
    OPEN_EXAMPLE: PathTurn(
        "(pick 0)", ("(did oplayer (pick 0))", "(did xplayer (pick 0))"), "(pick 0)", True
    ),
}
"""Our role's first turn in each example: beliefs need other kernels in later turns."""

_BOARDS_EXAMPLE, _OPTION = "kriegspiel_5x5", "evaluation="
"""A game with pieces, and the option that declares the values of pieces to a player."""

_GROUNDING_S = 60.0
_MAX_TRIES, _THINK_S = 10, 0.1
START_S = 4.0
"""A start clock that lets a player learn, so that the kernels of learning are compiled."""
_MEMORY_BYTES = 1 << 30

_log = logging.getLogger(__name__)


def are_cached(player: str, backend: str) -> bool:
    """Whether all kernels that a player needs were compiled at an earlier start.

    Args:
        player: a spec.
        backend: of the machine.
    """
    files, _ = _read_note(player, backend)
    return bool(files) and all(Path(file).is_file() for file in files)


def modules_of(player: str, backend: str) -> tuple[str, ...]:
    """Modules that such a player had imported after it had played, according to the note.

    Args:
        player: a spec.
        backend: of the machine.
    """
    return tuple(_read_note(player, backend)[1])


async def fill_cache(
    player: str, backend: str, tell: Callable[[int, int], None] = lambda num_done, parts: None
) -> None:
    """Compile all kernels that a player needs, which takes a minute or more.

    Failures are logged: the first match will be slow. If this is cancelled, the compilation ends.

    Args:
        player, backend: see `are_cached`.
        tell: called after each part, with the number of finished parts and of all parts.
    """
    try:
        contents = await _compile_in_child(player, backend, tell)
        _write_note(contents, player, backend)
    except (OSError, ValueError) as error:
        _log.warning("kernels could not be compiled before the first match: %s", error)


async def _compile_in_child(
    player: str, backend: str, tell: Callable[[int, int], None]
) -> dict[str, list[str]]:
    """The result of `compile_all` in a child.

    Raises:
        OSError: the system cannot start a process.
        ValueError: the child ended early.
    """
    import asyncio  # not for readers of the note, such as the template

    child, loop = Child(), asyncio.get_running_loop()

    def hear(news: tuple[int, int]) -> None:
        loop.call_soon_threadsafe(tell, *news)

    def compile_there() -> tuple[bool, Any]:
        try:
            return child.call(compile_all, (player, backend), hear)
        finally:
            child.end()

    try:
        failed, outcome = await asyncio.to_thread(compile_there)
    except asyncio.CancelledError:
        processes.kill_group(child.process.pid)
        raise
    except ChildLostError as error:
        raise ValueError(f"the process that compiles ended early ({error})") from error
    if failed:
        raise ValueError(str(outcome).strip().splitlines()[-1])
    contents: dict[str, list[str]] = outcome
    return contents


def compile_all(player: str, backend: str) -> dict[str, list[str]]:
    """Play a turn of each example in the child; returns the files of the cache, and the imports.

    Sends its progress as `(done, parts)`.
    """
    from ggp.machine.compiling import jit
    from ggp.players import parse_spec
    from ggp.server.workers.worker_match import WorkerMatch

    # `auto` hands over to one of several players, which depends on the game.
    alternatives = getattr(parse_spec(player).player, "PLAYS", ())
    learns = "learn=" in player
    if _OPTION in player and hasattr(parse_spec(player).options, "learn"):
        player, learns = player.partition(":")[0], True  # the file's critic is of another game
    specs = (player, *alternatives)
    # A match may also be played without a circuit.
    backends = (backend, "relational") if backend == "auto" else (backend,)
    parts = list(product(_FIRST_TURNS.items(), specs, backends))
    for num_done, ((rules, turn), spec, name) in enumerate(parts, 1):
        setup = Setup(rules, "xplayer", spec, name, 0, _GROUNDING_S, _MEMORY_BYTES)
        match = WorkerMatch(_ignore, lambda: False)
        match.build(setup)
        with suppress(BackendUnavailableError):  # as in workers, no kernel is spared
            jit.prepare()
        if spec == player:  # `auto` prepares with the players that it hands over to
            _until_all_is_loaded(partial(_prepare, match))
        for history in ((), (turn,)):
            _think_until_all_is_loaded(match, history)
        calls.tell((num_done, len(parts)))
    if _OPTION in player:
        with suppress(GGPError):  # a file that declares other pieces
            _search_boards(player, backend)
    if backend != "prolog":
        from ggp.machine.propnet.compile.kernels import compile_kernels

        with suppress(BackendUnavailableError):
            compile_kernels()
            if learns:
                _learn(backend)
            if alternatives:
                _choose(backend)
    files = [str(file) for file in jit.cache_files() if file.is_file()]
    # `jit.prepare` imports what loads kernels; other modules of numba only compile.
    names = [name for name in sys.modules if not name.startswith("numba.")]
    modules = [name for name in names if _has_file(sys.modules[name])]
    return {"files": files, "modules": modules}


def _learn(backend: str) -> None:
    """Learn what states are worth where roles know different things."""
    import numpy as np

    from ggp.machine import build_machine
    from ggp.machine.games import read_program
    from ggp.players.options.evaluations import learner_of_values
    from ggp.search.anytime import Deadline

    program, learner = read_program(_HIDDEN_EXAMPLE), learner_of_values()
    machine, deadline = build_machine(program, backend), Deadline.after(START_S)
    if learner is not None and learner.is_learnt_in_time(machine):
        critic = learner.learnt(machine, program, 0, deadline.part(0.9), deadline)
        if critic is not None:
            critic.goals(machine.initial(2), np.random.default_rng(0))


def _choose(backend: str) -> None:
    """Measure the properties by which `auto` chooses players in games larger than the examples."""
    from ggp.machine import build_machine
    from ggp.machine.games import read_program
    from ggp.study.properties import measure_gaps

    machine = build_machine(read_program(_EXAMPLE, "the example"), backend)
    measure_gaps(machine, 1, 1, 10, seed=0)


def _search_boards(player: str, backend: str) -> None:
    """Let a player with declared pieces search in a game that has some."""
    from ggp.gdl.games import find_game
    from ggp.server.workers.worker_match import WorkerMatch

    rules = find_game(_BOARDS_EXAMPLE).read_text()
    match = WorkerMatch(_ignore, lambda: False)
    match.build(Setup(rules, "white", player, backend, 0, _GROUNDING_S, _MEMORY_BYTES))
    _think_until_all_is_loaded(match, ())


def _think_until_all_is_loaded(match: WorkerMatch, history: History) -> None:
    """Search until all code is loaded."""

    def think(number: int) -> None:
        order = Think(number, 0, history, time.monotonic() + _THINK_S)
        match.take_note(order)
        match.think(order)

    _until_all_is_loaded(think)


def _prepare(match: WorkerMatch, number: int) -> None:
    """Use the start clock of a match."""
    match.use_start_clock(START_S)


def _until_all_is_loaded(use: Callable[[int], None]) -> None:
    """Repeat some work until it loads no more code: a clock may end during a compilation, and later
    code needs another attempt."""
    from ggp.machine.compiling import jit

    for attempt in range(_MAX_TRIES):
        num_before = jit.num_loaded()
        use(attempt)
        if jit.num_loaded() == num_before:
            return


def _has_file(module: object) -> bool:
    """Whether a module can be imported by its name again."""
    return getattr(getattr(module, "__spec__", None), "has_location", False)


def _ignore(_: object) -> None:
    """Ignore a message: the moves do not matter."""


def _read_note(player: str, backend: str) -> tuple[list[str], list[str]]:
    """Files of the cache and names of modules in the note; none if there is no note."""
    for note in _notes(player, backend):
        with suppress(OSError, ValueError, TypeError, LookupError):
            contents = json.loads(note.read_text())
            return list(map(str, contents["files"])), list(map(str, contents["modules"]))
    return [], []


def _write_note(contents: dict[str, list[str]], player: str, backend: str) -> None:
    for note in _notes(player, backend):
        with suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(contents))
            return
    _log.info("there is no place to note that kernels are compiled; every start will check")


def _notes(player: str, backend: str) -> Iterator[Path]:
    """Paths for the note: beside the machine code, or in the user's circuit cache."""
    about = (
        player.partition(":")[0],
        _OPTION in player,
        "learn=" in player,
        backend,
        kernels_version(),
        version("numba"),
    )
    machine = (platform.node(), platform.machine(), *sys.version_info[:2])
    name = f"kernels-{blake2b(repr((about, machine)).encode(), digest_size=8).hexdigest()}.json"
    if cache_folder := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(cache_folder) / name
        return
    bytecode = Path(ggp.machine.__file__).parent / "__pycache__"
    # If this folder cannot be written, compiled code is stored elsewhere, whoever filled it.
    if not bytecode.is_dir() or os.access(bytecode, os.W_OK):
        yield bytecode / name
    circuits = user_cache().folder
    if circuits is not None:
        yield circuits / name
