"""What `make play` shows."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from match_runner import demo


@pytest.fixture(scope="module")
def output() -> str:
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "NUM_MATCHES", 2)
    out = io.StringIO()
    demo.run(Console(file=out, width=80, markup=False, emoji=False, highlight=False))
    patch.undo()
    return out.getvalue()


def test_hyperplay2_asks_and_hyperplay_waits(output: str) -> None:
    assert re.search(r"> ask +90\.0 (±|\+/-) 0\.8 .*> wait", output)
    assert re.search(r"plays +.? *ask +.? *wait", output)
    assert re.search(r"Score +.? *90 +.? *(0|100) ", output)


def test_it_fits_80_columns_without_a_colour_terminal(output: str) -> None:
    assert max(map(len, output.splitlines())) <= 80
    assert "\x1b" not in output


def test_the_demo_names_what_to_look_at_and_a_next_step(output: str) -> None:
    assert "HyperPlay-II asks, because" in " ".join(output.split())
    assert "match-runner play " in output
    assert "ggp evaluate " in output
