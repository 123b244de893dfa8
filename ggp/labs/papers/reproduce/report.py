"""Files of experiments: a CSV and a PNG for each, and one report on all.

Results come in from `cli` (`results.Result`), files in the folder of the run go out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.papers.reproduce.results import (
    FEWEST_ROUNDS,
    Chart,
    Claim,
    Panel,
    Point,
    Result,
    RunSettings,
    StatesRow,
)
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.run.whole_files import read_whole, write_whole
from ggp.statistics import Interval, methods_text
from match_runner.charts import Plot, new_figure
from match_runner.match.records import make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


_SETTINGS = "settings.json"
_OF_OLD = {"clock": str(Clock.WALL)}
"""Values of settings that older versions did not write, because there was only one."""

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
    """Make the folder of a run, or check that it was made with the same settings.

    The number of matches may grow.

    Raises:
        ConfigError: the folder cannot be used, or was made with other settings; says which.
    """
    path = settings.folder / _SETTINGS
    required = {
        "seed": settings.seed,
        "backend": settings.backend,
        "clock": str(settings.clock),
    }
    make_folder(settings.folder)
    if not path.exists():
        write_whole(path, json.dumps(required) + "\n")
        return
    try:
        stored = json.loads(read_whole(path))
    except ValueError:
        stored = {}
    for name, value in required.items():
        earlier = stored.get(name, _OF_OLD.get(name)) if isinstance(stored, dict) else None
        if earlier != value:
            raise ConfigError(
                f"{settings.folder} was made with --{name} {earlier}, not {value}; continue with "
                "the same, or give another --out"
            )


def write_results(
    results: Sequence[Result], settings: RunSettings, version: str, name: str
) -> tuple[Path, ...]:
    """Write all files of a run into its folder; returns their paths, the report first.

    Args:
        name: name of the report.

    Raises:
        GGPError: a file cannot be written; see `write_whole`.
    """
    folder = settings.folder
    files = [folder / f"{name}.md", folder / f"{name}.json"]
    make_folder(folder)
    for result in results:
        table, picture = (folder / f"{result.name}{ending}" for ending in (".csv", ".png"))
        write_whole(table, _table_of(result.points).csv())
        files.append(table)
        if _is_drawn(result):
            draw(result, picture)
            files.append(picture)
        for chart in result.charts:
            files.append(folder / f"{result.name}-{chart.name}.png")
            draw_chart(chart, files[-1])
        if result.sheet is not None:
            files.append(folder / f"{result.name}-cells.csv")
            write_whole(files[-1], result.sheet.csv())
        if result.states:
            files.append(folder / f"{result.name}-states.csv")
            write_whole(files[-1], _states_table(result.states).csv())
    text = "\n".join(_report(results, settings, version)) + "\n"
    write_whole(files[0], text)
    data = json.dumps([asdict(result) for result in results], indent=1)
    write_whole(files[1], data + "\n")
    return tuple(files)


def backends_text(backends: Mapping[str, str]) -> str:
    """Backends as text: `propnet`, or the games on each if they differ."""
    names = sorted(set(backends.values()))
    if len(names) == 1:
        return names[0]
    games = {name: [game for game, on in backends.items() if on == name] for name in names}
    return "; ".join(f"{name}: {', '.join(games[name])}" for name in names)


def verdict(claim: Claim) -> str:
    """Verdict on a claim: `agree`, `differ`, or `-` with too few matches to judge."""
    return _VERDICTS[claim.agrees]


def _is_drawn(result: Result) -> bool:
    """Whether there is anything to draw."""
    return bool(result.panels) or any(point.value.value is not None for point in result.points)


def _table_of(points: Sequence[Point]) -> Table:
    """All points; columns about the paper are empty where it has no number."""
    rows = [
        (
            *(p.series, p.at, p.value.value, p.value.low, p.value.high, p.count, p.rounds),
            *(p.player, p.opponent, p.states, p.opponent_states, *(p.paper or ("", ""))),
        )
        for p in points
    ]
    return Table(_COLUMNS, rows)


def _states_table(rows: Sequence[StatesRow]) -> Table:
    """States visited, by role and turn."""
    return Table(
        _STATES_COLUMNS,
        [
            (
                *(row.series, row.at, row.role, row.turn, row.budget),
                *(row.player, row.opponent, *row.decisions),
            )
            for row in rows
        ],
    )


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
        "A mean agrees with a number within its interval, and with a bound that it reaches; shares "
        "are judged as the line says. A dash means too few matches to judge: a mean is judged from "
        f"{FEWEST_ROUNDS} rounds on; the matches of a round have the same seed. If all rounds "
        "scored the same, the interval allows for the share of rounds that may still differ, so "
        "it is wider than one of scores that vary a little."
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
        yield from _table([name.removeprefix("#") for name in table.headings], table.texts())
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
        *(point.series, point.at, format(point.value), str(point.count)),
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


# ------------------------------------------------------------------------
# Plots of experiments: scores over the resource index, or values side by side.

_SIZE_INCHES = (7.0, 4.2)
_PART_INCHES = (3.6, 2.8)
_TITLE_LETTERS = 42
"""Most letters in a line of a title above a part of `_PART_INCHES`."""

_MAX_ABREAST = 3
_MARKERS = "osD^v"
_LINES = ("--", ":", "-.")


def draw(result: Result, path: Path) -> None:
    """Write the figure of an experiment as a PNG file.

    Raises:
        GGPError: it cannot be written; see `write_whole`.
    """
    if result.panels:
        draw_heat_maps(result, path)
        return
    figure = new_figure(*_SIZE_INCHES)
    axes = figure.add_subplot()
    points = [point for point in result.points if point.value.value is not None]
    if sum(point.at.isdigit() for point in points) > 1:
        _draw_curves(axes, points)
    else:
        _draw_columns(axes, points)
    for line, style in zip(result.lines, _LINES, strict=False):
        label = f"{line.label} ({round(line.value, 2):g})"
        axes.axhline(line.value, color="0.4", linestyle=style, linewidth=1, label=label)
    low, high = result.span
    axes.set_ylim(low - 0.03 * (high - low), high + 0.08 * (high - low))
    sure = all(point.value.low == point.value.high for point in points)
    axes.set_ylabel(result.measure if sure else f"{result.measure}, with 99 % intervals")
    axes.set_title(result.title)
    if axes.get_legend_handles_labels()[0]:  # else nothing was played, and a legend would warn
        axes.legend(fontsize="small", framealpha=0.8)
    Plot(figure).save(path)


def draw_chart(chart: Chart, path: Path) -> None:
    """Write a chart as a PNG file.

    Raises:
        GGPError: it cannot be written; see `write_whole`.
    """
    parts = max(1, len(chart.curves))
    columns = min(parts, _MAX_ABREAST)
    rows = -(-parts // columns)
    width, height = _PART_INCHES
    figure = new_figure(width * columns + 0.6, height * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (title, curves) in zip(grid, chart.curves.items(), strict=False):
        for index, curve in enumerate(curves):
            axes.plot(curve.xs, curve.ys, label=curve.label, linestyle=("-", *_LINES)[index % 4])
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel(chart.x)
        axes.set_ylabel(chart.y)
        if chart.log:
            axes.set_yscale("log")
        axes.legend(fontsize="small", framealpha=0.8)
    for axes in grid[len(chart.curves) :]:
        axes.set_visible(False)
    figure.suptitle(fill(chart.title, _TITLE_LETTERS * columns))
    Plot(figure).save(path)


def _draw_curves(axes: Axes, points: Sequence[Point]) -> None:
    """Draw a line for every series; the indices, which double, are evenly spaced."""
    indices = sorted({int(p.at) for p in points if p.at.isdigit()})
    series = list(dict.fromkeys(p.series for p in points if p.at.isdigit()))
    for index, name in enumerate(series):
        curve = [p for p in points if p.series == name and p.at.isdigit()]
        xs = [indices.index(int(p.at)) + 0.06 * index for p in curve]
        _error_bars(axes, xs, curve, name, _MARKERS[index % len(_MARKERS)], joined=True)
    axes.set_xticks(range(len(indices)), [str(index) for index in indices])
    axes.set_xlabel("resource index n")


def _draw_columns(axes: Axes, points: Sequence[Point]) -> None:
    """Draw a mark for every number, with the published number beside it."""
    rows = list(dict.fromkeys(point.at for point in points))
    series = list(dict.fromkeys(point.series for point in points))
    is_single = len(series) == len(points)  # one point in each row
    for index, name in enumerate(["measured"] if is_single else series):
        column = [p for p in points if is_single or p.series == name]
        xs = [rows.index(p.at) + 0.2 * index for p in column]
        marker = _MARKERS[index % len(_MARKERS)]
        _error_bars(axes, xs, column, name, marker, joined=False)
        published = [(at + 0.08, *p.paper) for at, p in zip(xs, column, strict=True) if p.paper]
        if published:
            x, y, error = zip(*published, strict=True)
            axes.errorbar(
                x,
                y,
                error,
                fmt=marker,
                markerfacecolor="white",
                color="black",
                capsize=3,
                label=f"{name}, published",
            )
    axes.set_xticks(range(len(rows)), [_folded(row) for row in rows], fontsize="small")
    axes.set_xlim(-0.4, len(rows) - (0.6 if is_single else 0.4))


def _folded(text: str) -> str:
    """A label in two lines if it has two parts."""
    return text.replace(": ", ":\n").replace(" and ", "\nand ")


def _error_bars(
    axes: Axes, xs: list[float], points: list[Point], name: str, marker: str, *, joined: bool
) -> None:
    values = [point.value.value or 0.0 for point in points]
    if not points:
        return
    below, above = zip(*(_errors(point.value) for point in points), strict=True)
    axes.errorbar(
        xs,
        values,
        (below, above),
        marker=marker,
        linestyle="-" if joined else "none",
        capsize=3,
        label=name,
    )


def _errors(interval: Interval) -> tuple[float, float]:
    """Distances of an interval's ends below and above its value."""
    value = interval.value or 0.0
    low = value if interval.low is None else interval.low
    high = value if interval.high is None else interval.high
    return max(0.0, value - low), max(0.0, high - value)


# ------------------------------------------------------------------------
# Figures of heat maps: a row of panels for each quantity. Dark means low, for densities high.

_PANEL_INCHES = (3.2, 3.0)
_NAMED_INCHES = (8.6, 3.6)
"""Size of a panel with names along its axes."""

_DARK = 0.6
"""Distance from the middle of the scale, as a share of its half, at which numbers turn white."""


def draw_heat_maps(result: Result, path: Path) -> None:
    """Write the panels of an experiment as a PNG file.

    Raises:
        GGPError: it cannot be written; see `write_whole`.
    """
    rows = [list(panels) for _, panels in groupby(result.panels, lambda panel: panel.row)]
    columns = max(map(len, rows))
    width, height = _NAMED_INCHES if result.panels[0].x_names else _PANEL_INCHES
    figure = new_figure(width * columns + 1.0, height * len(rows) + 0.4)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for row_axes, panels in zip(grid, rows, strict=True):
        values = [
            value
            for panel in panels
            for line in panel.values
            for value in line
            if value is not None
        ]
        # Panels with names compare with the middle of the span, so the span sets the scale.
        low, high = result.span if panels[0].x_names else (min(values), max(values))
        for axes, panel in zip(row_axes, panels, strict=True):
            image = _draw_panel(axes, panel, low, max(high, low + 1e-9))
        bar = figure.colorbar(image, ax=list(row_axes))
        bar.set_label(panels[0].row)
    figure.suptitle(result.title)
    Plot(figure).save(path)


def _draw_panel(axes: Axes, panel: Panel, low: float, high: float) -> AxesImage:
    half_x, half_y = (
        (at[-1] - at[0]) / (2 * (len(at) - 1)) if len(at) > 1 else 0.5
        for at in (panel.xs, panel.ys)
    )
    image = axes.imshow(
        np.array(panel.values, dtype=np.float64),  # None is drawn as nothing
        cmap=("RdBu" if panel.x_names else "gray") + "_r" * panel.is_dense,
        vmin=low,
        vmax=high,
        origin="lower",
        aspect="auto",
        extent=(
            *(panel.xs[0] - half_x, panel.xs[-1] + half_x),
            *(panel.ys[0] - half_y, panel.ys[-1] + half_y),
        ),
    )
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_title(panel.title, fontsize="medium")
    if panel.x_names:
        axes.set_xticks(panel.xs, panel.x_names, rotation=30, ha="right", fontsize="small")
        axes.set_yticks(panel.ys, panel.y_names, fontsize="small")
        for y, line in zip(panel.ys, panel.values, strict=True):
            for x, value in zip(panel.xs, line, strict=True):
                if value is not None:
                    # The ends of the scale are dark.
                    dark = abs(2 * (value - low) / (high - low) - 1) > _DARK
                    color = "white" if dark else "black"
                    text = axes.text(x, y, f"{value:.0f}", color=color, fontsize="small")
                    text.set(ha="center", va="center")
    return image
