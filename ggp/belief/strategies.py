"""Strategies in files: the frequency of each move of a role, by its moves and percepts so far.

The format is that of `ggp solve --strategy --json`, of which only `strategy` is read:

    {"strategy": {"player1": [
        {"history": [{"move": "noop", "percepts": ["(dealt jack)"]}],
         "moves": {"bet": 0.25, "check": 0.75}}]}}

The numbers need not sum to 1, so counts of moves are a strategy, too (`remember`).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief.paths import PathTree
from ggp.errors import ConfigError
from ggp.machine.base import UNKNOWN, Machine
from ggp.run.whole_files import write_whole

History = tuple[tuple[str, tuple[str, ...]], ...]
"""Move and sorted percepts of each turn, in canonical KIF."""

Strategy = dict[History, dict[str, float]]
"""The strategy of one role: how often it makes each move, in any unit."""


def history_of(machine: Machine, tree: PathTree, path: int) -> History | None:
    """A path in words; None if anything in it is unknown."""
    turns = []
    for (node,) in tree.beginnings(np.array([path]))[1:]:
        move, percepts, _ = tree.last_turns(np.array([node]))[0].tolist()
        if UNKNOWN in (move, percepts):
            return None
        seen = tuple(sorted(machine.percept_texts(percepts)))
        turns.append((machine.move_text(move), seen))
    return tuple(turns)


def path_of(machine: Machine, tree: PathTree, role: int, history: History) -> int | None:
    """The path of a role with this history; None if the machine does not know its words."""
    path = np.array([role])
    for move, percepts in history:
        told = machine.move_id(move), machine.percept_id(list(percepts))
        if None in told:
            return None
        path = tree.extend(path, *(np.array([each], dtype=np.int64) for each in told))
    return int(path[0])


def read_strategies(file: str) -> dict[str, Strategy]:
    """The strategies of all roles in a file.

    Raises:
        ConfigError: there is no such file, or it has another format; the message says which.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"the strategies in {file} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the strategies in {file} cannot be read: it is no text; policies of `ggp learn` end "
            f"in .npz, and learned:policy={file} plays them"
        ) from error
    return _parsed(text, file)


def write_strategies(file: str, strategies: Mapping[str, Strategy]) -> None:
    """Write strategies in the format of `read_strategies`; all of them, or none.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    found = {
        role: [
            {
                "history": [{"move": move, "percepts": list(seen)} for move, seen in history],
                "moves": {move: round(share, 9) for move, share in sorted(moves.items())},
            }
            for history, moves in sorted(strategy.items())
        ]
        for role, strategy in sorted(strategies.items())
    }
    write_whole(Path(file), json.dumps({"strategy": found}, indent=1) + "\n")


def remember(file: str, seen: Mapping[str, Strategy]) -> None:
    """Add counts of moves to those in a file, which is created if missing.

    Processes that share the file wait for each other, and nothing is lost.

    Raises:
        GGPError: the file cannot be read or written, or is no such file.
    """
    with _locked(Path(file)):
        kept = read_strategies(file) if Path(file).exists() else {}
        for role, strategy in seen.items():
            of_role = kept.setdefault(role, {})
            for history, moves in strategy.items():
                counts = of_role.setdefault(history, {})
                for move, count in moves.items():
                    counts[move] = counts.get(move, 0.0) + count
        write_strategies(file, kept)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock of a file's folder: a lock on the file itself would go when it is replaced."""
    try:
        folder = os.open(file.absolute().parent, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(f"strategies cannot be written to {file}: {error}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _parsed(text: str, file: str) -> dict[str, Strategy]:
    try:
        found = json.loads(text)["strategy"]
        return {role: dict(map(_entry, entries)) for role, entries in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{file} has no strategies ({type(error).__name__}: {error}): it must be like what "
            "`ggp solve GAME --strategy --json` prints"
        ) from error


def _entry(entry: Any) -> tuple[History, dict[str, float]]:
    history = tuple(
        (str(turn["move"]), tuple(sorted(map(str, turn["percepts"])))) for turn in entry["history"]
    )
    moves = {str(move): float(share) for move, share in entry["moves"].items()}
    if not all(share >= 0 and np.isfinite(share) for share in moves.values()):
        raise ValueError(f"the shares of {', '.join(moves)} must be numbers of at least 0")
    return history, moves
