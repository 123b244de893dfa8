"""Options that name files of policies.

They are read when a spec is, also by those who let the player play later: so a wrong file is told
once, before the first match.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ggp.belief.strategies import read_strategies
from ggp.players.options.option_fields import words


def policies_field(meaning: str) -> Any:
    """The field of an option for what `ggp learn` wrote."""
    return words("", meaning, "FILE", _policies, usual="none", names_file=bool, reads=str)


def strategies_field(meaning: str) -> Any:
    """The field of an option for strategies as JSON."""
    return words("", meaning, "FILE", _strategies, usual="none", names_file=bool, reads=str)


def check_policies(file: str) -> None:
    """See that a file holds policies of `ggp learn`.

    Raises:
        ConfigError: it does not, or cannot be read.
    """
    from ggp.learn.files import read_policy  # only here: few players need nets

    read_policy(Path(file))


def _policies(text: str) -> str:
    if text:
        check_policies(text)
    return text


def _strategies(text: str) -> str:
    if text:
        read_strategies(text)
    return text
