"""The drawing in docs/understand/architecture.md is of the packages as they are."""

from __future__ import annotations

import runpy

from tests.support.games import REPOSITORY


def test_the_drawing_is_made_of_the_code_as_it_is() -> None:
    script = runpy.run_path(str(REPOSITORY / "scripts" / "rooms.py"))
    drawing = script["draw"](script["read_house"]())
    saved = script["DRAWING"].read_text()
    assert drawing == saved, "run `python scripts/rooms.py`, and look at docs/figures/rooms.svg"


def test_the_drawing_has_no_cycles_and_names_every_flow() -> None:
    script = runpy.run_path(str(REPOSITORY / "scripts" / "rooms.py"))
    house = script["read_house"]()
    height_of = script["heights"](house)
    assert all(height_of[user] > height_of[maker] for user, maker in house.flows)
    drawing = script["draw"](house)
    assert drawing.count("<path") == 1 + len(script["arrows"](house))
    assert all(name in drawing for name in ("ggp.machine", "propnet", "Bags", "Decision"))
