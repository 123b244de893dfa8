"""How good a bag is, in words."""

from __future__ import annotations

import pytest

from ggp.belief import Quality, in_words
from tests.support.qualities import IN_WORDS


@pytest.mark.parametrize("quality", IN_WORDS, ids=IN_WORDS.values())
def test_a_quality_is_told_in_words(quality: Quality) -> None:
    assert in_words(quality.as_json()) == IN_WORDS[quality]
