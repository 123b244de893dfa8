"""Charts, written to files or shown in a notebook.

Matplotlib draws them, without its global state for windows. The same numbers give the same file,
byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggp.errors import ConfigError
from ggp.run.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150

_METADATA: Mapping[str, Mapping[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
"""Metadata of a file, by its ending: nothing that changes from run to run."""

ENDINGS = tuple(_METADATA)
"""Endings of the files that charts can be written to."""


class Plot:
    """A drawn chart.

    Attributes:
        figure: the figure of matplotlib, to change or to draw into.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, path: Path | str) -> None:
        """Write the chart to a file in the format that its ending names.

        Raises:
            ConfigError: no chart can be written to a file of this name.
            ResultsError: the disk is full, or broken.
        """
        write_whole(Path(path), self._rendered(check_ending(Path(path)).suffix.lower()))

    def _rendered(self, ending: str) -> bytes:
        from matplotlib import rc_context

        out = BytesIO()
        with rc_context({"svg.hashsalt": "ggp"}):
            self.figure.savefig(out, format=ending[1:], metadata=dict(_METADATA[ending]))
        return out.getvalue()

    def png(self) -> bytes:
        """The chart as the contents of a PNG file."""
        return self._rendered(".png")

    _repr_png_ = png


def check_ending(path: Path) -> Path:
    """Return the path of a chart if its ending names a format.

    Raises:
        ConfigError: it has none of the `ENDINGS`.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"cannot draw {path}: give a file that ends in {', '.join(ENDINGS)}")
    return path


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no window will show.

    Args:
        width, height: in inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
