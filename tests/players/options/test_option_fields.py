"""Bounds of options that their authors cannot have meant."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ggp.errors import ConfigError
from ggp.players.options.option_fields import describe_options, read_options, whole, wholes


def test_option_without_a_choice_is_refused_where_it_is_declared() -> None:
    with pytest.raises(ConfigError, match=r"from 1 to 1 leaves no choice.*low=0, high=1"):
        whole(1, "whether to look ahead", high=1)
    with pytest.raises(ConfigError, match="from 3 to 2 leaves no choice"):
        wholes("how far", low=3, high=2)


def test_default_must_be_possible() -> None:
    with pytest.raises(ConfigError, match="0 is the default of an option from 1 to 9"):
        whole(0, "how far", high=9)


def test_option_may_be_on_or_off() -> None:
    @dataclass(frozen=True)
    class Options:
        ahead: int = whole(1, "whether to look ahead", low=0, high=1)
        depth: int | None = whole(None, "how far", usual="as far as there is time")

    assert read_options(Options, "mine", "ahead=0") == Options(ahead=0)
    assert next((each.low, each.high) for each in describe_options(Options)) == (0, 1)
