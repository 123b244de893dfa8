"""A stored series, read again without the command that played it.

The file says who played what, and holds records with their rules. So its results can be shown,
drawn and exported anywhere, also while a command is still playing it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError
from ggp.machine import Limits
from ggp.run.clocks import Clock
from match_runner.match.conditions import Conditions
from match_runner.match.replay import rules_of
from match_runner.series.holding import Held, held_so_far
from match_runner.series.outcomes import Played
from match_runner.series.plan import PLAY, Series, SeriesGame
from match_runner.series.stopping import StoppingRule
from match_runner.series.store import FILE, Store


def read_series(folder: Path) -> Held:
    """What is stored of a series in a folder.

    Games of which no match has been played yet are left out, since the file has no rules of them.

    Raises:
        ConfigError: there is no series in the folder, or no match of it.
        MatchError: a record was damaged.
    """
    path = folder / FILE
    if not path.is_file():
        raise ConfigError(f"{folder} holds no series: it has no {FILE}; give the --out of one")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name, value FROM settings")
            settings = {name: json.loads(value) for name, value in rows}
            planned = settings.get("planned", {})
            store = Store(connection, settings.get("measured", {}), planned)
            matches = store.matches(PLAY)
            if not matches:
                raise ConfigError(f"no match of the series in {folder} has been played yet")
            series, until = _series(settings, matches), _until(settings)
            if not series.games:
                raise ConfigError(f"cannot read {path}: its matches are of no game of the series")
            if until is not None:
                most = until.most // series.matches_a_round
                (game,) = series.games
                series = replace(series, games=(replace(game, rounds=max(most, game.rounds)),))
            held = held_so_far(series, store, until)
    except (sqlite3.Error, ValueError, LookupError, AttributeError, TypeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    if len(series.games) == len(settings["games"]):
        return held
    rounds = [planned.get(name) or 0 for name in settings["games"]]
    return replace(held, planned=max(held.planned, sum(rounds) * series.matches_a_round))


def _until(settings: Mapping[str, Any]) -> StoppingRule | None:
    """When the series ends by itself; versions that did not note it show all that was played."""
    return None if settings.get("until") is None else StoppingRule(**settings["until"])


def _series(settings: Mapping[str, Any], matches: list[Played]) -> Series:
    plays = settings["plays"]
    of_game = {match.planned.game: match for match in reversed(matches)}
    return Series(
        players={name: plays.get(name, name) for name in settings["players"]},
        games=tuple(
            _game(name, own, settings.get("planned", {}).get(name), of_game[name], matches)
            for name, own in settings["games"].items()
            if name in of_game
        ),
        rotate=settings["roles"] == "rotate",
        equal_states=settings["equal_states"],
        seed=settings["seed"],
        backend=settings["backend"],
        version=settings["version"],
        limits=Limits(threads=settings.get("threads", Limits().threads)),
    )


def _game(
    name: str,
    settings: Mapping[str, Any],
    planned: int | None,
    first: Played,
    matches: list[Played],
) -> SeriesGame:
    played = max(m.planned.round for m in matches if m.planned.game == name) + 1
    clock_s = settings["play_clock"]
    conditions = Conditions(
        play_clock_s=None if clock_s is None else float(clock_s),
        clock=Clock(settings.get("clock", Clock.WALL)),
        ponder=settings.get("ponder", False),
    )
    rules = rules_of(first.record)
    return SeriesGame(name, rules, max(planned or 0, played), conditions, settings["fixed"])
