"""One SQLite file: a row for each match, a row for each decision, written as matches end.

A match and its decisions are one transaction, so that whatever happens to the process leaves
whole matches only.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from match_runner.comparison.plan import Options, PlannedMatch
from match_runner.comparison.worker import DecisionRow, Outcome
from match_runner.records import as_number
from match_runner.results_file import open_results

FILE = "comparison.sqlite"
FORMAT = 1

_SCHEMA = """
CREATE TABLE options (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE matches (
    kind TEXT NOT NULL, number INTEGER NOT NULL, round INTEGER NOT NULL, seed INTEGER NOT NULL,
    players TEXT NOT NULL, goals TEXT NOT NULL, turns INTEGER NOT NULL, states INTEGER NOT NULL,
    errors TEXT NOT NULL, backend TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (kind, number));
CREATE TABLE decisions (
    kind TEXT NOT NULL, number INTEGER NOT NULL, turn INTEGER NOT NULL, role TEXT NOT NULL,
    player INTEGER NOT NULL, move TEXT NOT NULL, candidates INTEGER NOT NULL,
    particles INTEGER NOT NULL, exact INTEGER NOT NULL, states INTEGER NOT NULL,
    seconds REAL NOT NULL, fault TEXT,
    PRIMARY KEY (kind, number, turn, role),
    FOREIGN KEY (kind, number) REFERENCES matches);
"""
# Rows of decisions end with the fields of DecisionRow after `turn` and `role`.

_NAMES = {
    "digest": "the rules of the game",
    "players": "--players",
    "matches": "--matches",
    "rotate": "--roles",
    "equal_states": "--equal-states",
    "seed": "--seed",
    "backend": "--backend",
    "version": "the version of ggp",
    "format": "the format of the file",
}
"""Options that must stay the same, as the user knows them. The path of the game may change."""


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A match and what came of it."""

    planned: PlannedMatch
    outcome: Outcome


class Store:
    """The file of one comparison, open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, planned: PlannedMatch, players: Mapping[str, str], outcome: Outcome) -> None:
        """Keep a match and its decisions.

        Args:
            players: the spec that played each role, its budget included.
        """
        match = (
            *(planned.kind, planned.number, planned.round, planned.seed),
            json.dumps({role: [planned.seating[role], players[role]] for role in players}),
            json.dumps({role: as_number(goal) for role, goal in outcome.goals.items()}),
            *(outcome.turns, outcome.states, json.dumps(outcome.errors)),
            *(outcome.backend, outcome.seconds),
        )
        decisions = [
            (*planned.key, row.turn, row.role, planned.seating[row.role], *astuple(row)[2:])
            for row in outcome.decisions
        ]
        with self._connection as transaction:
            transaction.execute(f"INSERT INTO matches VALUES ({_marks(11)})", match)
            transaction.executemany(f"INSERT INTO decisions VALUES ({_marks(12)})", decisions)

    def matches(self, kind: str) -> list[PlayedMatch]:
        """All matches of a kind, by number."""
        decisions: dict[int, list[DecisionRow]] = defaultdict(list)
        for number, *row in self._connection.execute(
            "SELECT number, turn, role, move, candidates, particles, exact, states, seconds, fault "
            "FROM decisions WHERE kind = ? ORDER BY number, turn, rowid",
            (kind,),
        ):
            decisions[number].append(_decision(row))
        found = self._connection.execute(
            "SELECT number, round, seed, players, goals, turns, states, errors, backend, seconds "
            "FROM matches WHERE kind = ? ORDER BY number",
            (kind,),
        )
        return [_match(kind, row, tuple(decisions[row[0]])) for row in found]


@contextmanager
def open_store(folder: Path, options: Options) -> Iterator[Store]:
    """The file of a comparison in a folder, made if there is none.

    Raises:
        ConfigError: the folder cannot be used, another process is using it, or it holds a
            comparison with other options; says which.
    """
    with open_results(folder, FILE, "is comparing players") as connection:
        _set_up(connection, folder / FILE, options)
        yield Store(connection)


def _set_up(connection: sqlite3.Connection, path: Path, options: Options) -> None:
    """Make the tables, or see that they belong to the same comparison."""
    wanted = {**json.loads(json.dumps(options.to_json())), "format": FORMAT}
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if not tables:
        rows = ", ".join(f"({_sql_text(n)}, {_sql_text(json.dumps(v))})" for n, v in wanted.items())
        connection.executescript(f"BEGIN;{_SCHEMA}INSERT INTO options VALUES {rows};COMMIT;")
        return
    if ("options",) not in tables:
        raise ConfigError(f"{path} is not a comparison of players")
    stored = {n: json.loads(v) for n, v in connection.execute("SELECT name, value FROM options")}
    differ = [
        f"{text} was {_shown(name, stored.get(name))} and is now {_shown(name, wanted[name])}"
        for name, text in _NAMES.items()
        if stored.get(name) != wanted[name]
    ]
    if differ:
        raise ConfigError(
            f"{path.parent} holds a comparison with other options: {'; '.join(differ)}; continue "
            "with the same options, or give another --out"
        )


def _shown(name: str, value: Any) -> str:
    if name == "rotate":
        return "rotate" if value else "fixed"
    if name == "equal_states":
        return "given" if value else "not given"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _decision(row: list[Any]) -> DecisionRow:
    turn, role, move, candidates, particles, exact, states, seconds, fault = row
    return DecisionRow(turn, role, move, candidates, particles, bool(exact), states, seconds, fault)


def _match(kind: str, row: tuple[Any, ...], decisions: tuple[DecisionRow, ...]) -> PlayedMatch:
    number, round_, seed, players, goals, turns, states, errors, backend, seconds = row
    seating = {role: player for role, (player, _) in json.loads(players).items()}
    return PlayedMatch(
        PlannedMatch(kind, number, round_, seed, seating),
        Outcome(
            *(backend, json.loads(goals), turns, tuple(json.loads(errors))),
            *(states, seconds, decisions),
        ),
    )
