"""Figures of heat maps: a row of panels for each quantity, dark where it is low.

Densities are dark where they are high.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from match_runner.charts import Plot, new_figure
from match_runner.reproduce.results import Panel, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

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
