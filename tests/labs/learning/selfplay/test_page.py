"""The code on the page about learning runs."""

from __future__ import annotations

import re

from tests.support.games import REPOSITORY

PAGE = (REPOSITORY / "docs" / "use" / "learning.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run_as_shown() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(block, names)
    assert names["shares"] is not None
