"""The code on the page about environments runs."""

from __future__ import annotations

import re

import pytest

from tests.support.games import REPOSITORY

PAGE = (REPOSITORY / "docs" / "use" / "environment.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
RUN = [block for block in BLOCKS if "import jax" not in block]


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.split("\n")[0])
def test_the_examples_of_the_page_run_as_shown(block: str) -> None:
    for library in ("pettingzoo", "gymnasium"):
        if library in block:
            pytest.importorskip(library)
    names: dict[str, object] = {}
    exec(block, names)
    assert names["env"] is not None


def test_page_has_blocks() -> None:
    assert len(RUN) == 3
    assert len(BLOCKS) == 4
