"""Writes experiments as files: a CSV and a PNG for each, and one report on all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ggp.errors import ConfigError
from ggp.labs.papers.reproduce.plots import draw, draw_chart
from ggp.labs.papers.reproduce.results import (
    FEWEST_ROUNDS,
    Claim,
    Point,
    Result,
    RunSettings,
    StatesRow,
)
from ggp.run.clocks import Clock
from ggp.run.whole_files import write_whole
from ggp.statistics import interval_text, methods_text

_SETTINGS = "settings.json"
_OF_OLD = {"clock": str(Clock.WALL)}
"""Settings that older versions did not write, because they had only one value."""

_COLUMNS = (
    *("series", "at", "value", "low", "high", "count", "rounds", "player", "opponent"),
    *("states_a_decision", "opponent_states_a_decision", "paper", "paper_error"),
)
_STATES_COLUMNS = (
    *("series", "at", "role", "turn", "budget", "player_states", "opponent_states"),
    *("player_decisions", "opponent_decisions"),
)
_VERDICTS = {True: "agree", False: "differ", None: "-"}


def begin_run(settings: RunSettings) -> None:
    """Make the folder of a run, or check that it belongs to one with the same settings.

    The number of matches may grow.

    Raises:
        ConfigError: it cannot be used, or was made with other settings; says which.
    """
    path = settings.folder / _SETTINGS
    wanted = {
        "seed": settings.seed,
        "backend": settings.backend,
        "clock": str(settings.clock),
    }
    try:
        settings.folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_whole(path, json.dumps(wanted) + "\n")
            return
        stored = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot use {error.filename or path}: {error.strerror or error}"
        ) from error
    except ValueError:
        stored = {}
    for name, value in wanted.items():
        found = stored.get(name, _OF_OLD.get(name)) if isinstance(stored, dict) else None
        if found != value:
            raise ConfigError(
                f"{settings.folder} was made with --{name} {found}, not {value}; continue with "
                "the same, or give another --out"
            )


def write_results(
    results: Sequence[Result], settings: RunSettings, version: str, name: str
) -> tuple[Path, ...]:
    """Write all files of a run into its folder; the report comes first.

    Args:
        name: name of the report.

    Raises:
        GGPError: a file cannot be written; see `write_whole`.
    """
    folder = settings.folder
    written = [folder / f"{name}.md", folder / f"{name}.json"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make {folder}: {error.strerror or error}") from error
    for result in results:
        table, picture = (folder / f"{result.name}{ending}" for ending in (".csv", ".png"))
        write_whole(table, _csv(result.points))
        written.append(table)
        if _is_drawn(result):
            draw(result, picture)
            written.append(picture)
        for chart in result.charts:
            written.append(folder / f"{result.name}-{chart.name}.png")
            draw_chart(chart, written[-1])
        if result.states:
            written.append(folder / f"{result.name}-states.csv")
            write_whole(written[-1], _states_csv(result.states))
    text = "\n".join(_report(results, settings, version)) + "\n"
    write_whole(written[0], text)
    data = json.dumps([result.to_json() for result in results], indent=1)
    write_whole(written[1], data + "\n")
    return tuple(written)


def backends_text(backends: Mapping[str, str]) -> str:
    """Backends as text: `propnet`, or the games on each if they differ."""
    names = sorted(set(backends.values()))
    if len(names) == 1:
        return names[0]
    games = {name: [game for game, each in backends.items() if each == name] for name in names}
    return "; ".join(f"{name}: {', '.join(games[name])}" for name in names)


def verdict(claim: Claim) -> str:
    """Verdict on a claim: `agree`, `differ`, or `-` if too little was played to tell."""
    return _VERDICTS[claim.agrees]


def _is_drawn(result: Result) -> bool:
    """Whether there is anything to draw."""
    return bool(result.panels) or any(point.value.value is not None for point in result.points)


def _csv(points: Sequence[Point]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for p in points:
        paper = p.paper or ("", "")
        writer.writerow(
            (
                *(p.series, p.at, p.value.value, p.value.low, p.value.high, p.count, p.rounds),
                *(p.player, p.opponent, p.states, p.opponent_states, *paper),
            )
        )
    return out.getvalue()


def _states_csv(rows: Sequence[StatesRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_STATES_COLUMNS)
    for row in rows:
        start = (row.series, row.at, row.role, row.turn, row.budget)
        writer.writerow((*start, row.player, row.opponent, *row.decisions))
    return out.getvalue()


def _report(results: Sequence[Result], settings: RunSettings, version: str) -> Iterator[str]:
    papers = dict.fromkeys(result.paper for result in results if result.paper)
    yield f"# The experiments of {', and of '.join(papers)} again" if papers else "# Measurements"
    yield ""
    yield (
        f"ggp {version}, seed {settings.seed}, {settings.matches} matches (or synthetic trees) a "
        f"point, backend {settings.backend}. Brackets and error bars are 99 % confidence "
        "intervals, also those of the papers."
    )
    for method in methods_text(point.value for result in results for point in result.points):
        yield f"- {method}"
    yield ""
    yield (
        "A mean agrees with a number that lies within its interval, and with a bound that it "
        "reaches; shares are judged as the line says. A dash means that too little was played to "
        f"tell: a mean is judged from {FEWEST_ROUNDS} rounds on, the matches of a round having "
        "the same seed. Where all rounds scored the same, the interval allows for the share of "
        "rounds that may still differ, and so is wider than one of scores that vary a little."
    )
    for result in results:
        yield ""
        yield from _section(result)


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.title}"
    yield ""
    yield result.method
    if result.backends:
        yield ""
        yield f"Played on {backends_text(result.backends)}."
    if _is_drawn(result):
        yield ""
        yield f"![{result.title}]({result.name}.png)"
    if result.claims:
        yield ""
        yield from _table(
            ("", "expected", "ours", "", ""),
            (
                (c.text, c.expected, c.ours, verdict(c), c.reason if c.agrees is False else "")
                for c in result.claims
            ),
        )
    for table in result.tables:
        yield ""
        yield f"**{table.title}**"
        yield ""
        yield from _table([name.removeprefix("#") for name in table.head], table.rows)
    for chart in result.charts:
        yield ""
        yield f"**{chart.title}**"
        yield ""
        yield f"![{chart.title}]({result.name}-{chart.name}.png)"
    if result.panels:
        yield ""
        yield f"All {len(result.points):,} points: `{result.name}.csv`."
    elif not any(point.paper for point in result.points):
        yield ""
        yield from _table(
            ("series", "at", result.measure, "matches", "player", "opponent", "states", "of other"),
            map(_row, result.points),
        )
    if result.states:
        yield ""
        yield f"States visited for each decision, by role and turn: `{result.name}-states.csv`."
    for failure in result.failures:
        yield ""
        yield f"**Not played:** {failure}"


def _row(point: Point) -> tuple[str, ...]:
    return (
        *(point.series, point.at, interval_text(point.value), str(point.count)),
        *(_code(point.player), _code(point.opponent)),
        *(_states(point.states), _states(point.opponent_states)),
    )


def _code(spec: str) -> str:
    return f"`{spec}`" if spec else "-"


def _states(states: float | None) -> str:
    return "-" if states is None else f"{states:,.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
