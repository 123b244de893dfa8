"""Finding a game of OpenSpiel by its name, and refusing what cannot be played here.

A game is named as OpenSpiel names it, after `openspiel:`, with parameters in brackets:
`openspiel:goofspiel(num_cards=4,imp_info=True)`. That name is all the text there is of its rules,
so it is what records keep and workers are sent.
"""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from types import ModuleType
from typing import Any, ClassVar

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.gdl.descriptions import Description
from ggp.gdl.nearest import unknown
from ggp.gdl.program import RANDOM, Program, without_rules
from ggp.gdl.source import Diagnostic, Source
from ggp.libraries import demand_library, extra_advice

PREFIX = "openspiel:"
"""Begins the names of games of OpenSpiel."""

_TURNS_HIDDEN, _TURNS_SHOWN = "obstype", "reveal-numturns"
"""The parameter of OpenSpiel that says how much players are told, and the value that tells them
how many turns there were: paths of GDL-II always do."""


_FILE = re.compile(r"\b(filename|\w*_file)\s*=")
"""Parameters of OpenSpiel's games that say which file to read."""

_SHOWN = 80
"""Characters of a text that are shown in a message."""

HIDES_TURNS = frozenset(
    {"dark_hex_ir", "go_fish", "liars_dice_ir", "phantom_ttt_ir", "repeated_leduc_poker"}
)
"""Games whose players do not know how many turns there were, or forget what they did."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpielGame:
    """A game of OpenSpiel, as a `GameDefinition`.

    Attributes:
        utilities: least and greatest utility of a player; goals 0 to 100 stand for them.
        title: what OpenSpiel calls the game.
    """

    prefix: ClassVar[str] = PREFIX
    diagnostics: ClassVar[tuple[Diagnostic, ...]] = ()

    source: Source
    roles: tuple[str, ...]
    utilities: tuple[float, float]
    title: str

    @cached_property
    def digest(self) -> str:
        """Of the name with all parameters."""
        return blake2b(self.source.text.encode(), digest_size=16).hexdigest()

    def describe(self) -> Description:
        """Its title: OpenSpiel says no more."""
        return Description(self.title, "OpenSpiel plays this game; it has no rules to show.")

    def as_program(self) -> Program:
        """There are no rules to look into."""
        return without_rules(self.roles, self.source.name)


def refuse_files(text: str) -> None:
    """Refuse a game with a parameter that names a file: for texts that others wrote.

    Raises:
        ConfigError: there is one.
    """
    found = _FILE.search(text)
    if found:
        raise ConfigError(
            f"{text.strip()[:_SHOWN]!r} names a file ({found[1]}), which only games named on the "
            "command line may"
        )


def spiel_game(text: str, name: str) -> SpielGame:
    """The game that a text `openspiel:NAME(PARAMETERS)` names.

    Where the game has the parameter `obstype` and the text leaves it open, players are told the
    number of turns, as they always are in GDL-II. Warns where they are not in OpenSpiel.

    Args:
        name: what messages call it.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
        ConfigError: there is no such game, or it cannot be played here; says why.
    """
    game = load_game(text)
    kind = game.get_type()
    hides = game.get_parameters().get(_TURNS_HIDDEN, _TURNS_SHOWN) != _TURNS_SHOWN
    if hides or kind.short_name in HIDES_TURNS:
        _warn_of_turns(text.strip())
    roles = [f"p{player}" for player in range(game.num_players())]
    if kind.chance_mode == pyspiel().GameType.ChanceMode.EXPLICIT_STOCHASTIC:
        roles.append(RANDOM)
    return SpielGame(
        source=Source(name, f"{PREFIX}{str(game).removesuffix('()')}"),
        roles=tuple(roles),
        utilities=(game.min_utility(), game.max_utility()),
        title=kind.long_name,
    )


def load_game(text: str) -> Any:
    """The `pyspiel.Game` that a text names; see `spiel_game`."""
    library = pyspiel()
    given = text.strip().removeprefix(PREFIX)
    _check_name(given)
    try:
        game = library.load_game(given)
        asked = library.game_parameters_from_string(given)
        if _TURNS_HIDDEN in game.get_parameters() and _TURNS_HIDDEN not in asked:
            game = library.load_game(_with_turns(given))
    except library.SpielError as error:
        raise ConfigError(f"OpenSpiel has no game {given!r}: {_first_line(error)}") from error
    _check_kind(text, game)
    return game


def pyspiel() -> ModuleType:
    """The library.

    Raises:
        BackendUnavailableError: it is not installed.
    """
    try:
        import pyspiel as library
    except ImportError as error:
        demand_library(error, "pyspiel")
        raise BackendUnavailableError(
            "OpenSpiel", f"{extra_advice('openspiel')} ({error})"
        ) from error
    found: ModuleType = library
    return found


def _check_name(given: str) -> None:
    """Refuse names that OpenSpiel would complain about on standard error, too."""
    name = given.partition("(")[0].strip()
    names = pyspiel().registered_names()
    if name not in names:
        raise ConfigError(
            unknown("game of OpenSpiel", name, names, f"there are {len(names)} of them")
        )


def _check_kind(text: str, game: Any) -> None:
    """Refuse games that a machine cannot play.

    Raises:
        ConfigError: it is one of them; says why.
    """
    kinds, kind = pyspiel().GameType, game.get_type()
    reason = None
    if kind.dynamics == kinds.Dynamics.MEAN_FIELD:
        reason = "it is a mean-field game, which is played by a population, not by players"
    elif kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
        reason = (
            "its chance is sampled inside the game, so nobody can tell what else might have "
            "happened, nor how likely it was"
        )
    elif kind.action_structs_only:
        reason = "its actions are structures, not numbers"
    elif not all(map(math.isfinite, (game.min_utility(), game.max_utility()))):
        reason = "its utilities have no bounds, so they cannot be made goals of 0 to 100"
    elif not (
        kind.provides_information_state_string
        or kind.provides_observation_string
        or kind.information == kinds.Information.PERFECT_INFORMATION
    ):
        reason = "it does not say what its players see"
    if reason is not None:
        raise ConfigError(f"{text} cannot be played: {reason}")


@cache
def _warn_of_turns(text: str) -> None:
    """Say once that roles tell apart what players of OpenSpiel do not."""
    _log.warning(
        "%s: our roles count turns and remember what they did, and this game hides it from its "
        "players; so they tell apart what players of OpenSpiel do not",
        text,
    )


def _with_turns(given: str) -> str:
    name, _, rest = given.partition("(")
    comma = "," if rest.strip(" )") else ""
    return f"{name.strip()}({_TURNS_HIDDEN}={_TURNS_SHOWN}{comma}{rest or ')'}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
