"""Charts: as files, and as what a notebook shows.

They are drawn with matplotlib, without its state for windows. What is drawn from the same numbers
is the same file.
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
"""What files say of their origin, by ending: nothing that changes from run to run."""

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
        """Write it to a file; its ending says in which format.

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

    def _repr_png_(self) -> bytes:
        return self._rendered(".png")


def check_ending(path: Path) -> Path:
    """The path of a chart, if it says in which format the chart is to be.

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
