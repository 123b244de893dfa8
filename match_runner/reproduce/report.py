"""Experiments as files: a CSV and a PNG for each, and one report of all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ggp.errors import ConfigError
from match_runner.comparison.intervals import Interval
from match_runner.reproduce.plots import draw
from match_runner.reproduce.results import Claim, Point, Result, Settings

_COLUMNS = (
    *("series", "at", "value", "low", "high", "count", "player", "opponent"),
    *("states_a_decision", "opponent_states_a_decision", "paper", "paper_error"),
)
_VERDICTS = {True: "agree", False: "differ", None: "-"}


def write_results(
    results: Sequence[Result], settings: Settings, version: str, name: str
) -> tuple[Path, ...]:
    """Write all files of a run into its folder; the report comes first.

    Args:
        name: of the report.

    Raises:
        ConfigError: a file cannot be written.
    """
    folder = settings.folder
    written = [folder / f"{name}.md", folder / f"{name}.json"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for result in results:
            table, picture = (folder / f"{result.name}{ending}" for ending in (".csv", ".png"))
            table.write_text(_csv(result.points), encoding="utf-8")
            draw(result, picture)
            written += [table, picture]
        text = "\n".join(_report(results, settings, version)) + "\n"
        written[0].write_text(text, encoding="utf-8")
        data = json.dumps([result.to_json() for result in results], indent=1)
        written[1].write_text(data + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot write {error.filename or folder}: {error.strerror or error}"
        ) from error
    return tuple(written)


def verdict(claim: Claim) -> str:
    """`agree`, `differ`, or `-` where there is too little to tell."""
    return _VERDICTS[claim.agrees]


def _csv(points: Sequence[Point]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for p in points:
        paper = p.paper or ("", "")
        writer.writerow(
            (
                *(p.series, p.at, p.value.value, p.value.low, p.value.high, p.count),
                *(p.player, p.opponent, p.states, p.opponent_states, *paper),
            )
        )
    return out.getvalue()


def _report(results: Sequence[Result], settings: Settings, version: str) -> Iterator[str]:
    yield "# The experiments of Schofield & Thielscher (AAAI 2015) again"
    yield ""
    yield (
        f"ggp {version}, seed {settings.seed}, {settings.matches} matches a point, backend "
        f"{settings.backend}. Brackets and error bars are 99 % confidence intervals, the "
        "paper's too. Numbers agree if the paper's lies within ours, or, in the tables, if the "
        "two intervals meet."
    )
    for result in results:
        yield ""
        yield from _section(result)


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.title}"
    yield ""
    yield result.method
    yield ""
    yield f"![{result.title}]({result.name}.png)"
    if result.claims:
        yield ""
        yield from _table(
            ("", "paper", "ours", ""),
            ((c.text, c.paper, c.ours, verdict(c)) for c in result.claims),
        )
        reasons = {c.reason: None for c in result.claims if c.reason}
        if reasons:
            yield ""
            yield from (f"- {reason}" for reason in reasons)
    if not any(point.paper for point in result.points):
        yield ""
        yield from _table(
            ("series", "at", result.measure, "matches", "player", "opponent", "states", "of other"),
            map(_row, result.points),
        )
    for failure in result.failures:
        yield ""
        yield f"**Not played:** {failure}"


def _row(point: Point) -> tuple[str, ...]:
    return (
        *(point.series, point.at, _interval(point.value), str(point.count)),
        *(_code(point.player), _code(point.opponent)),
        *(_states(point.states), _states(point.opponent_states)),
    )


def _interval(interval: Interval) -> str:
    if interval.value is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.value:.2f}"
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _code(spec: str) -> str:
    return f"`{spec}`" if spec else "-"


def _states(states: float | None) -> str:
    return "-" if states is None else f"{states:,.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
