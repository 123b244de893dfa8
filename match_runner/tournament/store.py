"""The matches of a tournament in one SQLite file, each whole as its record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from match_runner.comparison.plan import PlannedMatch
from match_runner.records import MatchRecord, record_from_json
from match_runner.results_file import open_results
from match_runner.tournament.plan import Tournament

FILE = "tournament.sqlite"
FORMAT = 1

_SCHEMA = """
CREATE TABLE options (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE matches (
    game TEXT NOT NULL, number INTEGER NOT NULL, round INTEGER NOT NULL, seed INTEGER NOT NULL,
    seating TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (game, number));
"""


@dataclass(frozen=True, slots=True)
class Played:
    """A match and what came of it; the seating holds indices into `Tournament.names`."""

    planned: PlannedMatch
    record: MatchRecord


class Store:
    """The file of one tournament, open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, planned: PlannedMatch, record: MatchRecord) -> None:
        """Keep a match."""
        row = (
            *(planned.kind, planned.number, planned.round, planned.seed),
            *(json.dumps(dict(planned.seating)), json.dumps(record.to_json())),
        )
        with self._connection as transaction:
            transaction.execute("INSERT INTO matches VALUES (?, ?, ?, ?, ?, ?)", row)

    def matches(self) -> list[Played]:
        """All matches, by round, then game, then number.

        Raises:
            MatchError: a record was damaged.
        """
        found = self._connection.execute(
            "SELECT game, number, round, seed, seating, record FROM matches "
            "ORDER BY round, game, number"
        )
        return [
            Played(
                PlannedMatch(game, number, round_, seed, json.loads(seating)),
                record_from_json(json.loads(record)),
            )
            for game, number, round_, seed, seating, record in found
        ]


@contextmanager
def open_store(folder: Path, tournament: Tournament) -> Iterator[Store]:
    """The file of a tournament in a folder, made if there is none.

    Raises:
        ConfigError: the folder cannot be used, another process is using it, or it holds
            another tournament; says what differs.
    """
    with open_results(folder, FILE, "is holding a tournament") as connection:
        _set_up(connection, folder / FILE, {**tournament.to_json(), "format": FORMAT})
        yield Store(connection)


def _set_up(connection: sqlite3.Connection, path: Path, wanted: dict[str, Any]) -> None:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if not tables:
        with connection as transaction:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                transaction.execute(statement)
            rows = [(name, json.dumps(value)) for name, value in wanted.items()]
            transaction.executemany("INSERT INTO options VALUES (?, ?)", rows)
        return
    if ("options",) not in tables or ("matches",) not in tables:
        raise ConfigError(f"{path} is not a tournament")
    stored = {n: json.loads(v) for n, v in connection.execute("SELECT name, value FROM options")}
    differ = list(_differences(stored, wanted))
    if differ:
        raise ConfigError(
            f"{path.parent} holds another tournament: {'; '.join(differ[:3])}; continue with "
            "the same settings, or give another --out"
        )


def _differences(stored: object, wanted: object, where: str = "") -> Iterator[str]:
    """What is not the same, each with its place."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for name in {**stored, **wanted}:
            place = f"{where}.{name}" if where else name
            yield from _differences(stored.get(name), wanted.get(name), place)
    elif stored != wanted:
        yield f"{where} was {_shown(stored)} and is now {_shown(wanted)}"


def _shown(value: object) -> str:
    return "not there" if value is None else "there" if isinstance(value, dict) else str(value)
