"""Finds a game of OpenSpiel by its name, and refuses those that cannot be played here.

A game is named as OpenSpiel names it, after `openspiel:`, with parameters in brackets:
`openspiel:goofspiel(num_cards=4,imp_info=True)`. There is no text of its rules other than that
name, so records keep the name as it was given, and workers are sent it: the one that OpenSpiel
gives to a game it has loaded may lack parameters, such as files. Games in Python are registered
when their modules are imported; see `IMPORTS`.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from importlib import import_module
from itertools import islice, product
from random import Random
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.gdl.nearest import unknown
from ggp.gdl.program import RANDOM, Program, without_rules
from ggp.gdl.source import Diagnostic, Source
from ggp.gdl.syntax.descriptions import Description
from ggp.libraries import demand_library, extra_advice
from ggp.machine.definition import IMPORTS

PREFIX = "openspiel:"
"""Beginning of the names of games of OpenSpiel."""

_OWN_MODULE, _OWN_MARK = "open_spiel.python.games", "python_"
"""The module that registers OpenSpiel's own games in Python, and how their names begin."""

_TURNS_HIDDEN, _TURNS_SHOWN = "obstype", "reveal-numturns"
"""The parameter of OpenSpiel that says how much players observe, and the value that shows them
the number of turns so far: paths of GDL-II always have it."""


_GAMBIT = "efg_game"
"""The game that OpenSpiel makes of a file of Gambit's."""

_FILE = re.compile(r"\b(filename|\w*_file)\s*=")
"""Parameters of OpenSpiel's games that name a file to read."""

_SHOWN = 80
"""Number of characters of a text that a message shows."""

HIDES_TURNS = frozenset(
    {"dark_hex_ir", "go_fish", "liars_dice_ir", "phantom_ttt_ir", "repeated_leduc_poker"}
)
"""Games whose players do not know the number of turns so far, or forget what they did."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpielGame:
    """A game of OpenSpiel, as a `GameDefinition`.

    Attributes:
        utilities: least and greatest utility of a player; goals 0 to 100 stand for them.
        title: OpenSpiel's name of the game.
        strings: how far the strings of information states can be trusted.
    """

    prefix: ClassVar[str] = PREFIX
    diagnostics: ClassVar[tuple[Diagnostic, ...]] = ()

    source: Source
    roles: tuple[str, ...]
    utilities: tuple[float, float]
    title: str
    strings: Strings

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
        ConfigError: the text has such a parameter.
    """
    found = _FILE.search(text)
    if found:
        raise ConfigError(
            f"{text.strip()[:_SHOWN]!r} names a file ({found[1]}), which only games named on the "
            "command line may"
        )


def spiel_game(text: str, name: str) -> SpielGame:
    """The game that a text `openspiel:NAME(PARAMETERS)` names.

    Where the game has the parameter `obstype` and the text leaves it open, players observe the
    number of turns, as they always do in GDL-II. Warns of games of OpenSpiel in which they do not,
    or forget what they did.

    Args:
        name: what messages call it.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
        ConfigError: there is no such game, or it cannot be played here; the message says why.
    """
    game, given = _loaded(text)
    kind = game.get_type()
    strings = Strings()
    if kind.provides_information_state_string and not is_open(game):
        strings = examine(game)
    if kind.short_name == _GAMBIT and (strings.forgotten or strings.hide_turns):
        raise ConfigError(
            f"{text.strip()} cannot be played as OpenSpiel reads it: {_unlike_roles(strings)}; "
            "give the path of the file without OpenSpiel, as in `ggp solve game.efg`"
        )
    hides = game.get_parameters().get(_TURNS_HIDDEN, _TURNS_SHOWN) != _TURNS_SHOWN
    if hides or strings.hide_turns or strings.forgotten or kind.short_name in HIDES_TURNS:
        _warn_of_turns(text.strip())
    roles = [f"p{player}" for player in range(game.num_players())]
    if kind.chance_mode == pyspiel().GameType.ChanceMode.EXPLICIT_STOCHASTIC:
        roles.append(RANDOM)
    return SpielGame(
        source=Source(name, f"{PREFIX}{given.removesuffix('()')}"),
        roles=tuple(roles),
        utilities=(game.min_utility(), game.max_utility()),
        title=kind.long_name,
        strings=strings,
    )


def is_open(game: Any) -> bool:
    """Whether a `pyspiel.Game` has perfect information."""
    perfect = pyspiel().GameType.Information.PERFECT_INFORMATION
    return bool(game.get_type().information == perfect)


def load_game(text: str) -> Any:
    """The `pyspiel.Game` that a text names; see `spiel_game`."""
    return _loaded(text)[0]


def _loaded(text: str) -> tuple[Any, str]:
    """The game, and its name as it was given, but for what was added to it."""
    library = pyspiel()
    name, bracket, parameters = text.strip().removeprefix(PREFIX).strip().partition("(")
    given = f"{name.rstrip()}{bracket}{parameters}"  # OpenSpiel takes a blank for part of the name
    _import_modules(given)
    _check_name(given)
    try:
        game = library.load_game(given)
        asked = library.game_parameters_from_string(given)
        if _TURNS_HIDDEN in game.get_parameters() and _TURNS_HIDDEN not in asked:
            given = _with_turns(given)
            game = library.load_game(given)
    except Exception as error:  # of OpenSpiel, of what C++ lets through, or of a game in Python
        raise ConfigError(f"OpenSpiel has no game {given!r}: {_first_line(error)}") from error
    _check_kind(text, game)
    return game, given


def _import_modules(given: str) -> None:
    """Import the modules that may register a game in Python.

    Raises:
        ConfigError: one that the user named cannot be imported.
    """
    if _OWN_MARK in given:
        with suppress(ImportError):  # then the name is unknown
            import_module(_OWN_MODULE)
    for module in filter(None, os.environ.get(IMPORTS, "").split(",")):
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            import_module(module)
        except (Exception, SystemExit) as error:  # whatever is in it
            raise ConfigError(
                f"the module {module!r} cannot be imported, as --import says: "
                f"{type(error).__name__}: {_first_line(error)}"
            ) from error


def pyspiel() -> ModuleType:
    """The library `pyspiel`.

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
            unknown(
                "game of OpenSpiel",
                name,
                names,
                f"there are {len(names)} of them, and `--import MODULE` adds yours",
            )
        )


def _check_kind(text: str, game: Any) -> None:
    """Refuse games that a machine cannot play.

    Raises:
        ConfigError: the game is one of them; the message says why.
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
        kind.provides_information_state_string or kind.provides_observation_string or is_open(game)
    ):
        reason = "it does not say what its players see"
    if reason is not None:
        raise ConfigError(f"{text} cannot be played: {reason}")


@cache
def _warn_of_turns(text: str) -> None:
    """Warn once that our roles tell states apart that players of OpenSpiel do not."""
    _log.warning(
        "%s: our roles count turns and remember what they did, and this game hides it from its "
        "players; so they tell apart what players of OpenSpiel do not",
        text,
    )


def _unlike_roles(strings: Strings) -> str:
    """Words for what players of a game lack that roles of GDL-II have."""
    if strings.forgotten:
        return f"a player forgets what it did before information state {strings.forgotten!r}"
    return "an information state lies at several depths, and roles of GDL-II count turns"


def _with_turns(given: str) -> str:
    name, _, rest = given.partition("(")
    comma = "," if rest.strip(" )") else ""
    return f"{name.strip()}({_TURNS_HIDDEN}={_TURNS_SHOWN}{comma}{rest or ')'}"


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


# ------------------------------------------------------------------------
# Examines whether the strings of a game of OpenSpiel tell players no more than they know.
#
# OpenSpiel defines `information_state_string` for the player who acts, and most games have one for
# the others, too. Some give these what the player who acts knows: so does every game from a file of
# Gambit's. So matches are walked, as many as a bound on states allows, the shortest first. Whoever
# acts knows its information state, and no more. If two ways lead a player there by the same moves
# of its own, but gave it other strings in between, these strings told what it does not know.
#
# In the same walks shows whether players forget their moves, or cannot count turns.

MOST_STATES = 1_000
"""Number of states to walk through: all of a small game."""

MOST_TURNS = 50
"""Length of a walk: later, hardly any information state comes twice."""

_SHARE = 0.5
"""Share of these states that are visited from the start on, turn by turn; the others in matches."""


@dataclass(slots=True)
class Strings:
    """What walks through a game showed of the strings of its information states.

    Attributes:
        leak: whether a player that does not act is told what it does not know.
        hide_turns: whether a player is in one information state in different turns.
        forgotten: an information state that follows different moves of its player; empty for none.
    """

    leak: bool = False
    hide_turns: bool = False
    forgotten: str = ""


class _Memory(NamedTuple):
    """What a player may remember, as numbers that are equal for equal memories.

    Attributes:
        last: the string it got last.
        strings: all strings that it got, repeated ones once, and its moves between them.
        choices: its information states and moves.
        turns: the turns of these.
    """

    last: str | None
    strings: int
    choices: int
    turns: int


def examine(game: Any, most_states: int = MOST_STATES) -> Strings:
    """Walk through a game that provides strings of information states.

    Args:
        game: the `pyspiel.Game`.
        most_states: number of states to visit.
    """
    return _Walks(game).walked(most_states)


_Moves = dict[int, int]
"""The actions of a turn, by player."""


class _Walks:
    def __init__(self, game: Any) -> None:
        self._root = game.new_initial_state()
        self._players = range(game.num_players())
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[tuple[int, str], tuple[_Memory, int]] = {}
        self._seen = Strings()

    def walked(self, most_states: int) -> Strings:
        rng, left = Random(0), most_states
        begun = [_Memory(None, 0, 0, 0) for _ in self._players]
        waiting = deque([(self._root, self._arrived(self._root, begun, {}, 0), 0)])
        while waiting and left > most_states * (1 - _SHARE):
            state, memories, turn = waiting.popleft()
            for after, moves in islice(_all_after(state), left):
                left -= 1
                known = self._arrived(after, memories, moves, turn + 1)
                if not after.is_terminal():
                    waiting.append((after, known, turn + 1))
        while waiting and left > 0:
            state, memories, turn = waiting[rng.randrange(len(waiting))]
            until = min(left, MOST_TURNS)
            while not state.is_terminal() and until > 0:
                until -= 1
                state, moves = _one_after(state, rng)
                left, turn = left - 1, turn + 1
                memories = self._arrived(state, memories, moves, turn)
        return self._seen

    def _arrived(
        self, state: Any, before: list[_Memory], moves: _Moves, turn: int
    ) -> list[_Memory]:
        """What the players remember in a state, given what they remembered before the moves that
        led there."""
        found = []
        for player, memory in zip(self._players, before, strict=True):
            strings, choices, turns = memory.strings, memory.choices, memory.turns
            if player in moves:
                strings = self._number(strings, moves[player])
                choices = self._number(choices, memory.last, moves[player])
                turns = self._number(turns, turn)
            words = self._words(state, player)
            if words != memory.last:
                strings = self._number(strings, words)
            now = _Memory(words, strings, choices, turns)
            found.append(now)
            if words is not None and acts(state, player):
                self._compare(player, words, now, turn)
        return found

    def _compare(self, player: int, words: str, memory: _Memory, turn: int) -> None:
        """Compare with another way to the information state of a player that acts."""
        other, its_turn = self._known.setdefault((player, words), (memory, turn))
        if other.choices != memory.choices:
            self._seen.forgotten = self._seen.forgotten or words
        elif other.strings != memory.strings:
            self._seen.leak = True
        self._seen.hide_turns |= its_turn != turn or other.turns != memory.turns

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def _words(self, state: Any, player: int) -> str | None:
        if state.is_terminal():
            return None
        try:
            return str(state.information_state_string(player))
        except RuntimeError:  # OpenSpiel's error is a subclass
            return None


def acts(state: Any, player: int) -> bool:
    """Whether a player, as opposed to chance, has a choice in a `pyspiel.State`."""
    if state.is_simultaneous_node():
        return bool(state.legal_actions(player))
    return bool(state.current_player() == player)


def _all_after(state: Any) -> Iterator[tuple[Any, _Moves]]:
    """The states after each joint move."""
    if not state.is_simultaneous_node():
        player = state.current_player()
        for action in state.legal_actions():
            yield state.child(action), {player: action}
        return
    players = range(state.num_players())
    for actions in product(*(state.legal_actions(player) or [0] for player in players)):
        after = state.clone()
        after.apply_actions(list(actions))
        yield after, dict(enumerate(actions))


def _one_after(state: Any, rng: Random) -> tuple[Any, _Moves]:
    """The state after a random joint move."""
    if not state.is_simultaneous_node():
        action = rng.choice(state.legal_actions())
        return state.child(action), {state.current_player(): action}
    players = range(state.num_players())
    actions = [rng.choice(state.legal_actions(player) or [0]) for player in players]
    after = state.clone()
    after.apply_actions(actions)
    return after, dict(enumerate(actions))
