"""Store of a series: one SQLite file, to which every match goes as it ends, with its whole record.

Commands read the file to continue a series, or to show it again. A match is one transaction, so
that a process that dies leaves whole matches only. The rules of a game are stored once. Two views
are for people with their own questions: `scores` has a row for each role of a match, `decisions` a
row for each decision.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from operator import eq
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError, ResultsError
from ggp.run.whole_files import locked
from match_runner.match.records import record_from_json
from match_runner.series.outcomes import Played
from match_runner.series.plan import PLAY, PlannedMatch, Series, measured_rounds
from match_runner.series.verdicts import StoppingRule

FILE = "series.sqlite"
FORMAT = 1

_WAIT_S = 60.0

_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE rules (digest TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE matches (
    game TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, round INTEGER NOT NULL,
    seed INTEGER NOT NULL, seating TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (game, kind, number));
CREATE VIEW scores AS SELECT
    game, kind, number, round, seed, goal.key AS role,
    (SELECT value FROM json_each(seating) WHERE key = goal.key) AS player,
    (SELECT value FROM json_each(record, '$.players') WHERE key = goal.key) AS plays,
    goal.value AS goal, json_array_length(record, '$.turns') AS turns,
    json_extract(record, '$.error') AS error
    FROM matches, json_each(record, '$.goals') AS goal;
CREATE VIEW decisions AS SELECT
    game, kind, number, round, seed, turn.key AS turn, made.key AS role,
    (SELECT value FROM json_each(seating) WHERE key = made.key) AS player,
    json_extract(made.value, '$.move') AS move,
    json_array_length(made.value, '$.values') AS candidates,
    json_extract(made.value, '$.particles') AS particles,
    json_extract(made.value, '$.exact') AS exact,
    json_extract(made.value, '$.states_visited') AS states,
    json_extract(made.value, '$.seconds') AS seconds,
    json_extract(made.value, '$.fault') AS fault
    FROM matches, json_each(record, '$.turns') AS turn,
        json_each(turn.value, '$.decisions') AS made;
"""


_WRONG_FILE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
_WRONG_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
"""Errors of a wrong path. All other errors are about the disk: it may be full or broken."""


class Store:
    """The file of one series, open.

    Args:
        renamed: stored names of games that have changed their names, by the present names.

    Attributes:
        measured: number of matches that measure the budgets of equal states, by game, as planned
            when the series began.
        planned: number of rounds of each game, as planned when the series began; None with a
            stopping rule, and in files of versions that did not note it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        measured: Mapping[str, int],
        planned: Mapping[str, int | None],
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._read: dict[tuple[str, str, int], Played] = {}
        self._stored_names = dict(renamed or {})
        self._names = {stored: now for now, stored in self._stored_names.items()}
        self.measured = {self._name(game): number for game, number in measured.items()}
        self.planned = {self._name(game): rounds for game, rounds in planned.items()}

    def add(self, match: Played) -> None:
        """Store a match, and its rules unless they are stored already."""
        planned, record = match.planned, match.record
        row = (
            *(self._stored_names.get(planned.game, planned.game), planned.kind, planned.number),
            *(planned.round, planned.seed),
            *(json.dumps(dict(planned.seating)), json.dumps(replace(record, rules="").to_json())),
        )
        with self._connection as transaction:
            transaction.execute(
                "INSERT OR IGNORE INTO rules VALUES (?, ?)", (record.digest, record.rules)
            )
            transaction.execute("INSERT INTO matches VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._read[planned.key] = match

    def keys(self) -> set[tuple[str, str, int]]:
        """The keys of all matches, see `PlannedMatch.key`."""
        rows = self._connection.execute("SELECT game, kind, number FROM matches")
        return {(self._name(game), kind, number) for game, kind, number in rows}

    def is_as_planned(self, series: Series) -> bool:
        """Whether the series has exactly the rounds that were planned at first, all of them played:
        then no result can have influenced their number."""
        num_played = Counter(game for game, kind, _ in self.keys() if kind == PLAY)
        return all(
            self.planned.get(game.name) == game.rounds
            and num_played[game.name] == game.rounds * series.matches_a_round
            for game in series.games
        )

    def backends(self) -> dict[str, str]:
        """The backend of the stored matches of each game."""
        rows = self._connection.execute(
            "SELECT game, json_extract(record, '$.backend') FROM matches GROUP BY game"
        )
        return {self._name(game): backend for game, backend in rows}

    def matches(self, kind: str = PLAY) -> list[Played]:
        """All matches of a kind, by round, then game, then number.

        Raises:
            MatchError: a record was damaged.
        """
        if self.keys() - self._read.keys():
            self._read_missing()
        of_kind = [match for match in self._read.values() if match.planned.kind == kind]
        return sorted(of_kind, key=lambda m: (m.planned.round, m.planned.game, m.planned.number))

    def _read_missing(self) -> None:
        """Read the matches that an earlier run stored."""
        rules = dict(self._connection.execute("SELECT digest, text FROM rules"))
        for game, kind, number, round_, seed, seating, record_text in self._connection.execute(
            "SELECT game, kind, number, round, seed, seating, record FROM matches"
        ):
            name = self._name(game)
            planned = PlannedMatch(name, kind, number, round_, seed, json.loads(seating))
            if planned.key not in self._read:
                record = record_from_json(json.loads(record_text))
                record = replace(record, rules=rules.get(record.digest, ""))
                self._read[planned.key] = Played(planned, record)

    def _name(self, stored: str) -> str:
        """Present name of a game in the file."""
        return self._names.get(stored, stored)


@contextmanager
def open_store(
    folder: Path | None, series: Series, *, until: StoppingRule | None = None, reading: bool = False
) -> Iterator[Store]:
    """Open the store of a series in a folder, new or not; without a folder, in memory.

    Other processes may read the file meanwhile.

    Args:
        until: the stopping rule of the series, for readers of the file; None to play all rounds.
        reading: whether to read only, which is possible while another process plays.

    Raises:
        InUse: another process is using the folder.
        ConfigError: it cannot be used, or it holds another series; says how that differs.
        ResultsError: the file can no longer be read or written.
    """
    if folder is None:
        with closing(sqlite3.connect(":memory:")) as connection:
            yield _set_up(connection, Path(), series, until)
        return
    path = folder / FILE
    with (
        nullcontext()
        if reading
        else locked(folder, "plays a series in", "end it, or give another --out")
    ):
        try:
            with closing(sqlite3.connect(path, timeout=_WAIT_S)) as connection:
                store = _set_up(connection, path, series, until)
                if not reading:
                    latest = {"until": until and asdict(until), "threads": series.limits.threads}
                    with connection as transaction:
                        _keep(transaction, latest)
                yield store
        except sqlite3.Error as error:
            # The low byte of an extended error code is its primary code.
            kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if kind in (*_WRONG_FILE, *_WRONG_PLACE):
                raise ConfigError(f"cannot use {path}: {error}") from error
            raise ResultsError(
                f"cannot keep results in {path}: {error}; earlier results are safe, and the same "
                "command continues"
            ) from error


def _set_up(
    connection: sqlite3.Connection, path: Path, series: Series, until: StoppingRule | None
) -> Store:
    """Make the tables, or check that they belong to the same series."""
    # A round trip through JSON turns tuples into lists, as in the stored settings.
    settings = json.loads(json.dumps({**series.settings(), "format": FORMAT}))
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if not tables:
        measured = {game.name: measured_rounds(game) for game in series.games}
        planned = {game.name: None if until else game.rounds for game in series.games}
        rows = {**settings, "measured": measured, "planned": planned}
        with connection as transaction:
            transaction.execute("BEGIN")  # a killed process leaves all of it or nothing
            for statement in filter(str.strip, _SCHEMA.split(";")):
                transaction.execute(statement)
            _keep(transaction, rows)
        return Store(connection, measured, planned)
    if ("settings",) not in tables or ("matches",) not in tables:
        raise ConfigError(f"{path} is not a series of matches")
    stored = {n: json.loads(v) for n, v in connection.execute("SELECT name, value FROM settings")}
    measured, planned = stored.pop("measured", {}), stored.pop("planned", {})
    for name in ("until", "threads"):  # these may differ from command to command
        stored.pop(name, None)
    renamed = _renamed(stored.get("games", {}), settings["games"])
    settings["games"] = {renamed.get(name, name): game for name, game in settings["games"].items()}
    differ = list(_differences(stored, settings))
    if differ:
        raise ConfigError(
            f"{path.parent} holds a series with other settings: {'; '.join(differ[:3])}; continue "
            "with the same settings, or give another --out"
        )
    return Store(connection, measured, planned, renamed)


def _keep(connection: sqlite3.Connection, settings: Mapping[str, Any]) -> None:
    """Write settings within a transaction, replacing settings of the same names."""
    connection.executemany(
        "INSERT OR REPLACE INTO settings VALUES (?, ?)",
        [(name, json.dumps(value)) for name, value in settings.items()],
    )


def _renamed(stored: Mapping[str, Any], games: Mapping[str, Any]) -> dict[str, str]:
    """Stored names of games that have changed their names, by the present names.

    Rules identify a game: the command may run in another folder, or a file may have moved.
    """
    unmatched = {name: game for name, game in stored.items() if name not in games}
    stored_names: dict[str, str] = {}
    # If several games have the same rules, match equal settings first.
    for is_same in (eq, lambda old, game: old["rules"] == game["rules"]):
        for name, game in games.items():
            if name in stored or name in stored_names:
                continue
            stored_name = next((old for old in unmatched if is_same(unmatched[old], game)), None)
            if stored_name is not None:
                del unmatched[stored_name]
                stored_names[name] = stored_name
    return stored_names


def _differences(stored: object, current: object, path: str = "") -> Iterator[str]:
    """Yield the differences between two values, each with the path of its field."""
    if isinstance(stored, dict) and isinstance(current, dict):
        for name in {**stored, **current}:
            field = f"{path}.{name}" if path else name
            yield from _differences(stored.get(name), current.get(name), field)
    elif stored != current:
        yield f"{path} was {_setting_text(stored)} and is now {_setting_text(current)}"


def _setting_text(value: object) -> str:
    match value:
        case None:
            return "not there"
        case dict():
            return "there"
        case list():
            return " ".join(map(str, value))
        case bool():
            return "on" if value else "off"
    return str(value)
