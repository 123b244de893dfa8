"""Plots of experiments: scores over the resource index, or values side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ggp.labs.papers.reproduce.results import Chart, Panel, Point, Result
from ggp.statistics import Interval
from match_runner.charts import Plot, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


_SIZE_INCHES = (7.0, 4.2)
_PART_INCHES = (3.6, 2.8)
_TITLE_LETTERS = 42
"""Most letters in a line of a title above a part of `_PART_INCHES`."""

_MOST_ABREAST = 3
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
    columns = min(parts, _MOST_ABREAST)
    rows = -(-parts // columns)
    width, height = _PART_INCHES
    figure = new_figure(width * columns + 0.6, height * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (title, curves) in zip(grid, chart.curves.items(), strict=False):
        for number, curve in enumerate(curves):
            axes.plot(curve.xs, curve.ys, label=curve.label, linestyle=("-", *_LINES)[number % 4])
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
    """Draw a line for every series over the indices, evenly spaced as they double."""
    indices = sorted({int(p.at) for p in points if p.at.isdigit()})
    series = list(dict.fromkeys(p.series for p in points if p.at.isdigit()))
    for number, name in enumerate(series):
        shown = [p for p in points if p.series == name and p.at.isdigit()]
        places = [indices.index(int(p.at)) + 0.06 * number for p in shown]
        _error_bars(axes, places, shown, name, _MARKERS[number % len(_MARKERS)], joined=True)
    axes.set_xticks(range(len(indices)), [str(index) for index in indices])
    axes.set_xlabel("resource index n")


def _draw_columns(axes: Axes, points: Sequence[Point]) -> None:
    """Draw a mark for every number, with the published one beside it."""
    rows = list(dict.fromkeys(point.at for point in points))
    series = list(dict.fromkeys(point.series for point in points))
    alone = len(series) == len(points)  # nothing to tell apart in a row
    for number, name in enumerate(["measured"] if alone else series):
        shown = [p for p in points if alone or p.series == name]
        places = [rows.index(p.at) + 0.2 * number for p in shown]
        marker = _MARKERS[number % len(_MARKERS)]
        _error_bars(axes, places, shown, name, marker, joined=False)
        published = [(at + 0.08, *p.paper) for at, p in zip(places, shown, strict=True) if p.paper]
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
    axes.set_xlim(-0.4, len(rows) - (0.6 if alone else 0.4))


def _folded(text: str) -> str:
    """A label in two lines if it has two parts."""
    return text.replace(": ", ":\n").replace(" and ", "\nand ")


def _error_bars(
    axes: Axes, places: list[float], points: list[Point], name: str, marker: str, *, joined: bool
) -> None:
    values = [point.value.value or 0.0 for point in points]
    if not points:
        return
    below, above = zip(*(_errors(point.value) for point in points), strict=True)
    axes.errorbar(
        places,
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
# Figures of heat maps: a row of panels for each quantity, dark where it is low.
#
# Densities are dark where they are high.

_PANEL_INCHES = (3.2, 3.0)
_NAMED_INCHES = (8.6, 3.6)
"""Size of a panel whose values along the axes have names."""

_DARK = 0.6
"""Distance from the middle of the scale, as a share of its half, from which numbers are white."""


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
    for places, panels in zip(grid, rows, strict=True):
        values = [
            value
            for panel in panels
            for line in panel.values
            for value in line
            if value is not None
        ]
        # Values with names are compared with a known level, the middle of the span.
        low, high = result.span if panels[0].x_names else (min(values), max(values))
        for axes, panel in zip(places, panels, strict=True):
            image = _draw_panel(axes, panel, low, max(high, low + 1e-9))
        bar = figure.colorbar(image, ax=list(places))
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
        cmap="RdBu" if panel.x_names else "gray_r" if panel.is_dense else "gray",
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
