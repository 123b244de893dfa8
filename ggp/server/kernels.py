"""Kernels are compiled before there is a match, in a process that never sees a stranger's rules.

Workers that gave up their rights cannot write to the cache of machine code, because whoever reads
it runs it; they would compile for half a minute in every match. Once all is compiled, a note says
which files of the cache tell of it. While they are there, nothing has to be done at a start.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from itertools import product
from pathlib import Path

import ggp.machine
from ggp import children
from ggp.machine.kernel_version import kernels_version
from ggp.machine.propnet.build.cache import user_cache
from ggp.server.orders import Setup, Think

_EXAMPLE = """
(role xplayer) (role random) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal xplayer (guess ?x)) (succ ?x ?y)) (<= (legal random (pick ?x)) (succ ?x ?y))
(<= (sees xplayer (told ?x)) (does random (pick ?x)) (true (step 0)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next right) (does xplayer (guess ?x)) (does random (pick ?x)))
(<= terminal (true (step 3))) (<= (goal xplayer 100) (true right))
(<= (goal xplayer 0) (not (true right))) (goal random 0)
"""
"""A game for which every kernel is needed, but those for games where everybody knows everything."""

_OPEN_EXAMPLE = """
(role xplayer) (role oplayer) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?r (pick ?x)) (role ?r) (succ ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next same) (does xplayer (pick ?x)) (does oplayer (pick ?x)))
(<= terminal (true (step 3))) (<= (goal xplayer 100) (true same))
(<= (goal xplayer 0) (not (true same))) (goal oplayer 50)
"""

_ENTRY = "ggp.server.kernels:compile_all"
_GROUNDING_S = 60.0
_MOST_TRIES, _THINK_S = 10, 0.1
_MEMORY_BYTES = 1 << 30

_log = logging.getLogger(__name__)


def are_cached(player: str, backend: str) -> bool:
    """Whether all kernels that a player needs were compiled at an earlier start.

    Args:
        player: its spec.
        backend: of the machine.
    """
    for note in _notes(player, backend):
        with suppress(OSError, ValueError, TypeError):
            files = json.loads(note.read_text())
            return bool(files) and all(Path(file).is_file() for file in files)
    return False


def fill_cache(player: str, backend: str) -> bool:
    """Compile all kernels that a player needs, which takes up to a minute.

    What goes wrong is logged: the first match will be slow.

    Returns:
        false if it was interrupted (SIGINT, SIGTERM).
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        child = children.start(_ENTRY, player, backend)
        try:
            assert child.stdout is not None
            files = json.loads(child.stdout.read())
        finally:
            children.reap(child)
        _keep_note(files, player, backend)
    except KeyboardInterrupt:
        return False
    except (OSError, ValueError) as error:
        _log.warning("kernels could not be compiled before the first match: %s", error)
    finally:
        signal.signal(signal.SIGTERM, before)
    return True


def compile_all(player: str, backend: str) -> None:
    """What the child does: it plays a turn of each example, and says what is in the cache now."""
    with children.own_answers() as answers:
        parse_spec = import_module("ggp.players").parse_spec
        # What a player lets play in its place depends on the game.
        specs = (player, *getattr(parse_spec(player).player, "PLAYS", ()))
        for rules, spec in product((_EXAMPLE, _OPEN_EXAMPLE), specs):
            setup = Setup(rules, "xplayer", spec, backend, 0, _GROUNDING_S, _MEMORY_BYTES)
            match = import_module("ggp.server.worker_match").WorkerMatch(_ignore, lambda: False)
            match.build(setup)
            # A clock ends while something is compiled; what comes after that needs another.
            for number in range(_MOST_TRIES):
                before = _cached()
                match.think(Think(number, 0, (), time.monotonic() + _THINK_S))
                if _cached() == before:
                    break
        answers.write(json.dumps([str(file) for file in _cached() if file.is_file()]).encode())


def _cached() -> tuple[Path, ...]:
    jit = sys.modules.get("ggp.machine.jit")
    return () if jit is None else tuple(jit.cache_files())


def _ignore(_: object) -> None:
    """The moves do not matter."""


def _keep_note(files: list[str], player: str, backend: str) -> None:
    for note in _notes(player, backend):
        with suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(files))
            return
    _log.info("nowhere can be noted that kernels are compiled; every start will look")


def _notes(player: str, backend: str) -> Iterator[Path]:
    """Where it may be noted: with the machine code, or where the user keeps circuits."""
    about = (player.partition(":")[0], backend, kernels_version(), version("numba"))
    machine = (platform.node(), platform.machine(), *sys.version_info[:2])
    name = f"kernels-{blake2b(repr((about, machine)).encode(), digest_size=8).hexdigest()}.json"
    if own := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(own) / name
        return
    beside = Path(ggp.machine.__file__).parent / "__pycache__"
    # Where it cannot be written, what is compiled is looked for elsewhere, whoever filled this.
    if not beside.is_dir() or os.access(beside, os.W_OK):
        yield beside / name
    circuits = user_cache().folder
    if circuits is not None:
        yield circuits / name
