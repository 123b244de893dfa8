"""The page of the library names all that `import ggp` offers."""

from __future__ import annotations

import ggp.library
from tests.docs.all_pages import DOCS


def test_the_page_names_all_of_the_library() -> None:
    lines = (DOCS / "reference" / "api.md").read_text(encoding="utf-8").splitlines()
    documented = {f"::: ggp.library.{name}" for name in ggp.library.__all__}
    assert documented <= set(lines), documented - set(lines)
