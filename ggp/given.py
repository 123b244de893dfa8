"""Checks of the arguments that users pass to the library.

Each function returns the checked value; a wrong one raises a `ConfigError` that states the
expected form.
"""

from __future__ import annotations

import operator
import os

import numpy as np

from ggp.errors import ConfigError, GDLError
from ggp.gdl import parse_term
from ggp.gdl.analysis.domains import Domains, Position, position
from ggp.gdl.nearest import did_you_mean
from ggp.gdl.program import TRUE
from ggp.gdl.terms import Term, signature, variables
from ggp.run.clocks import Clock
from ggp.seeds import MAX_SEED, check_seed

FLUENT = position(TRUE, 0)
"""The argument position in which fluents stand: the first of `true`."""

_MAX_SHOWN = 60
_MAX_LISTED = 8


def checked_text(game: object) -> str:
    """The text that identifies a game.

    Raises:
        ConfigError: it is neither a string nor a path.
    """
    if isinstance(game, os.PathLike):
        game = os.fspath(game)
    if not isinstance(game, str):
        raise ConfigError(
            "a game is given as a string (its name, the path of a rulesheet, or the rules "
            f"themselves), not as {_brief(game)}"
        )
    return game


def checked_seed(seed: object) -> int:
    """A seed as an integer.

    Raises:
        ConfigError: it is not an integer, or negative, or greater than `MAX_SEED`.
    """
    try:
        value = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError(
            f"a seed must be a whole number from 0 to {MAX_SEED}, not {_brief(seed)}"
        ) from None
    check_seed(value, "a seed")
    return value


def checked_count(count: object, name: str) -> int:
    """A count as an integer, at least 1.

    Args:
        name: its name in messages, such as `rounds`.

    Raises:
        ConfigError: it is not a whole number, or below 1.
    """
    try:
        value = operator.index(count)  # type: ignore[arg-type]
    except TypeError:
        value = 0
    if value < 1:
        raise ConfigError(f"{name} must be a whole number from 1, not {_brief(count)}")
    return value


def rounds_of(matches: object, rounds: object, size: int, *, usual: int, prefix: str = "") -> int:
    """The number of rounds, given by the number of matches or of rounds.

    Args:
        size: matches in a round.
        usual: the number of rounds if neither is given.
        prefix: what stands before the names `matches` and `rounds` where users write them.

    Raises:
        ConfigError: both are given, or they do not make whole rounds.
    """
    if matches is not None and rounds is not None:
        raise ConfigError(
            f"give {prefix}matches or {prefix}rounds, not both; here a round is {size} matches"
        )
    if matches is None:
        return checked_count(usual if rounds is None else rounds, f"{prefix}rounds")
    number = checked_count(matches, f"{prefix}matches")
    if number % size:
        below = number - number % size
        possible = " or ".join(str(n) for n in (below, below + size) if n)
        raise ConfigError(
            f"{prefix}matches {number} leaves a round unfinished: with {size} players that "
            f"change roles it must be a multiple of {size}, such as {possible}"
        )
    return number // size


def checked_clock(clock: object) -> Clock:
    """The clock with this name.

    Raises:
        ConfigError: there is none with this name.
    """
    if clock not in tuple(Clock):
        raise ConfigError(f"a clock must be one of {', '.join(Clock)}, not {_brief(clock)}")
    return Clock(str(clock))


def rng_of(seed: object) -> np.random.Generator:
    """The random number generator for a seed.

    Raises:
        ConfigError: as for `checked_seed`.
    """
    return np.random.default_rng(checked_seed(seed))


def checked_fluent(text: object, domains: Domains | None) -> str:
    """A fluent as canonical KIF.

    Args:
        domains: of the rules; None if unknown.

    Raises:
        ConfigError: it is not a ground term, or no rule can make it hold.
    """
    if not isinstance(text, str):
        raise ConfigError(f"a fluent is a string of KIF, as in '(cell 1 2 x)', not {_brief(text)}")
    try:
        term = parse_term(text)
    except GDLError as error:
        reason = error.diagnostics[0].message
        raise ConfigError(
            f"{_brief(text)} is not a fluent: one term of KIF is expected, as in '(cell 1 2 x)' "
            f"({reason})"
        ) from error
    if any(variables(term)):
        raise ConfigError(f"{_brief(text)} is not a fluent: it has a variable; name the values")
    wrong = None if domains is None else domains.impossible(term, FLUENT)
    if domains is not None and wrong is not None:
        raise ConfigError(f"no rule makes {term} hold: {_expected(*wrong, domains)}")
    return str(term)


def _expected(part: Term, at: Position, domains: Domains) -> str:
    """The terms that may stand in place of a part of a fluent, as the end of a message."""
    constants, functions = domains.constants(at), domains.functions(at)
    listed = [*constants, *(f"({name}{' ?' * arity})" for name, arity in functions)]
    choices = ", ".join(listed[:_MAX_LISTED]) + (", ..." if len(listed) > _MAX_LISTED else "")
    hint = did_you_mean(signature(part)[0], (*constants, *(name for name, _ in functions)))
    place = "the fluents are" if at == FLUENT else f"in place of {part} there can be"
    return f"{place} {choices or 'nothing'}{hint}"


def _brief(value: object) -> str:
    """The `repr` of a value, shortened."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
