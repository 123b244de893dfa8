"""The drawing in docs/understand/architecture.md is of the packages as they are."""

from __future__ import annotations

import runpy

from tests.support.games import REPOSITORY


def test_the_drawing_is_made_of_the_code_as_it_is() -> None:
    script = runpy.run_path(str(REPOSITORY / "scripts" / "rooms.py"))
    drawn = script["draw"](script["read_house"]())
    kept = script["DRAWING"].read_text()
    assert drawn == kept, "run `python scripts/rooms.py`, and look at docs/figures/rooms.svg"


def test_nothing_flows_in_a_circle_and_what_flows_is_named() -> None:
    script = runpy.run_path(str(REPOSITORY / "scripts" / "rooms.py"))
    house = script["read_house"]()
    height_of = script["heights"](house)
    assert all(height_of[user] > height_of[maker] for user, maker in house.flows)
    drawn = script["draw"](house)
    assert drawn.count("<path") == 1 + len(script["arrows"](house))
    assert all(name in drawn for name in ("ggp.machine", "propnet", "Bags", "Decision"))
