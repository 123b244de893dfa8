"""Finds a game of OpenSpiel by its name, and refuses games that cannot be played here.

`spiel_game` takes a text, and returns a `SpielGame`, which a machine plays. The text is OpenSpiel's
name of the game after `openspiel:`, with parameters in brackets:
`openspiel:goofspiel(num_cards=4,imp_info=True)`. This name is all the rules that there are, so
records and workers get it as the user wrote it: the name that OpenSpiel gives to a loaded game may
lack parameters, such as files. Games in Python are registered when their modules are imported; see
`IMPORTS`.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from importlib import import_module
from itertools import islice, product
from random import Random
from threading import RLock
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.gdl.nearest import unknown
from ggp.gdl.program import RANDOM, Program, without_rules
from ggp.gdl.source import Description, Diagnostic, Source
from ggp.libraries import demand_library, extra_advice
from ggp.machine.definition import IMPORTS

PREFIX = "openspiel:"
"""Beginning of the names of games of OpenSpiel."""

_OWN_MODULE, _OWN_MARK = "open_spiel.python.games", "python_"
"""The module that registers OpenSpiel's own games in Python, and the prefix of their names."""

_TURNS_HIDDEN, _TURNS_SHOWN = "obstype", "reveal-numturns"
"""The parameter of OpenSpiel that selects what players observe, and the value that shows them the
number of turns so far: paths of GDL-II always have it."""


_COUNTS_TURNS = "dark_hex"
"""The game whose information states hold the number of turns whatever `obstype` says."""

_GAMBIT = "efg_game"
"""The name of games that OpenSpiel reads from a file of Gambit."""

_FILE = re.compile(r"\b(filename|\w*_file)\s*=")
"""Parameters of OpenSpiel's games that name a file to read."""

_SHOWN = 80
"""Most characters of a text in a message."""

_TURNS = (
    "our roles count turns and remember what they did, and this game hides it from its players; so "
    "they tell apart what players of OpenSpiel do not"
)

FAULTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("dark_hex_ir", "go_fish", "liars_dice_ir", "phantom_ttt_ir"),
        _TURNS,
    ),
    "dark_chess": "what a player observes holds the half-move clock, so it learns of captures and "
    "moves of pawns out of its sight",
    "dark_hex": f"its information states hold the number of turns, whatever {_TURNS_HIDDEN} says",
    _GAMBIT: "numbers of actions are sorted at each node and their labels are not, so `(act 0)` "
    "may have different labels at two nodes; the path of the file without OpenSpiel keeps labels",
    "kriegspiel": "no player is told that a king is in check",
    "python_hangman": "it declares perfect information, so its player is told the word",
    "quoridor": "OpenSpiel says that its implementation has known issues",
    "repeated_leduc_poker": "after each hand, also after a fold, both players see both cards",
}
"""What players of a game know otherwise than one expects, by the game's name; of `dark_hex` only
where its players are to count no turns."""

BLACK_IS_PLAYER_0 = frozenset(
    {
        "antichess",
        "chess",
        "crazyhouse",
        "dark_chess",
        "einstein_wurfelt_nicht",
        "kriegspiel",
        "rbc",
    }
)
"""Games whose player 0 is Black, and moves second."""

_printing = RLock()
"""Held by the thread that has put something else in the place of standard error."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpielGame:
    """A game of OpenSpiel, as a `GameDefinition`.

    Attributes:
        utilities: lowest and highest utility of a player; goals 0 to 100 stand for them.
        title: OpenSpiel's long name of the game.
        strings: faults of the strings of information states.
        about: sentences on who moves first and what players see.
    """

    prefix: ClassVar[str] = PREFIX
    diagnostics: ClassVar[tuple[Diagnostic, ...]] = ()

    source: Source
    roles: tuple[str, ...]
    utilities: tuple[float, float]
    title: str
    strings: Strings
    about: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The digest of the name with all parameters."""
        return blake2b(self.source.text.encode(), digest_size=16).hexdigest()

    def describe(self) -> Description:
        """The title, and what is known of the players; OpenSpiel has no other description."""
        lines = ("OpenSpiel plays this game; it has no rules to show.", *self.about)
        return Description(self.title, "\n".join(lines))

    def as_program(self) -> Program:
        """A program without rules."""
        return without_rules(self.roles, self.source.name)


def refuse_files(text: str) -> None:
    """Refuse a game with a parameter that names a file, in a text from a stranger.

    Raises:
        ConfigError: the text has such a parameter.
    """
    match = _FILE.search(text)
    if match:
        raise ConfigError(
            f"{text.strip()[:_SHOWN]!r} names a file ({match[1]}), which only games named on the "
            "command line may"
        )


def spiel_game(text: str, name: str) -> SpielGame:
    """The game named by a text `openspiel:NAME(PARAMETERS)`.

    If the game has the parameter `obstype` and the text does not set it, players observe the number
    of turns, as they always do in GDL-II. A warning is logged for each fault (`FAULTS`, `examine`,
    `unlike_tensors`).

        >>> spiel_game("openspiel:kuhn_poker", "kuhn_poker").roles
        ('p0', 'p1', 'random')

    Args:
        name: name of the game in messages.

    Raises:
        BackendUnavailableError: OpenSpiel is not installed.
        ConfigError: there is no such game, or it cannot be played here; the message says why.
    """
    game, full_name = _loaded(text)
    kind = game.get_type()
    strings = Strings() if is_open(game) else examine(game)
    if kind.short_name == _GAMBIT and (strings.forgotten or strings.hide_turns):
        raise ConfigError(
            f"{text.strip()} cannot be played as OpenSpiel reads it: {_unlike_roles(strings)}; "
            "give the path of the file without OpenSpiel, as in `ggp solve game.efg`"
        )
    faults = _faults(game, strings)
    for fault in faults:
        _warn(text.strip(), fault)
    roles = [f"p{player}" for player in range(game.num_players())]
    if kind.chance_mode == pyspiel().GameType.ChanceMode.EXPLICIT_STOCHASTIC:
        roles.append(RANDOM)
    return SpielGame(
        source=Source(name, f"{PREFIX}{full_name.removesuffix('()')}"),
        roles=tuple(roles),
        utilities=(game.min_utility(), game.max_utility()),
        title=kind.long_name,
        strings=strings,
        about=tuple(_about(game, strings, faults)),
    )


def _about(game: Any, strings: Strings, faults: tuple[str, ...]) -> Iterator[str]:
    """Sentences on who moves first, what players see, and what is odd about it."""
    kind = game.get_type()
    if kind.short_name in BLACK_IS_PLAYER_0:
        yield "p0 is Black and moves second."
    if is_open(game):
        yield "Everybody sees all moves."
    else:
        words = "information state" if kind.provides_information_state_string else "observation"
        yield f"A player sees a digest of its {words}{' when it moves' if strings.leak else ''}."
    yield from (f"{fault[0].upper()}{fault[1:]}." for fault in faults)


def _faults(game: Any, strings: Strings) -> tuple[str, ...]:
    """What players of a game know otherwise than one expects; the same sentence once."""
    name = game.get_type().short_name
    hides = game.get_parameters().get(_TURNS_HIDDEN, _TURNS_SHOWN) != _TURNS_SHOWN
    faults = [FAULTS[name]] if name in FAULTS and (hides or name != _COUNTS_TURNS) else []
    if (hides and name != _COUNTS_TURNS) or strings.hide_turns or strings.forgotten:
        faults.append(_TURNS)
    if strings.unknowable:
        faults.append(
            f"after {strings.unknowable!r} a player's legal moves depend on what it does not know"
        )
    if unlike := unlike_tensors(game):
        ours = "here all moves are seen" if is_open(game) else "here strings count"
        faults.append(f"its tensors tell players {unlike} its strings do; {ours}")
    return tuple(dict.fromkeys(faults))


def is_open(game: Any) -> bool:
    """Whether a `pyspiel.Game` has perfect information."""
    perfect = pyspiel().GameType.Information.PERFECT_INFORMATION
    return bool(game.get_type().information == perfect)


def load_game(text: str) -> Any:
    """The `pyspiel.Game` named by a text; see `spiel_game`."""
    return _loaded(text)[0]


def _loaded(text: str) -> tuple[Any, str]:
    """The game, and its full name: the name in the text, with `obstype` added if need be."""
    library = pyspiel()
    name, bracket, parameters = text.strip().removeprefix(PREFIX).strip().partition("(")
    full_name = f"{name.rstrip()}{bracket}{parameters}"  # OpenSpiel reads blanks as part of names
    _import_modules(full_name)
    _check_name(full_name)
    try:
        with unprinted():
            game = library.load_game(full_name)
            settings = library.game_parameters_from_string(full_name)
            if _TURNS_HIDDEN in game.get_parameters() and _TURNS_HIDDEN not in settings:
                full_name = _with_turns(full_name)
                game = library.load_game(full_name)
    except Exception as error:  # of OpenSpiel, C++, or a game in Python
        raise ConfigError(f"OpenSpiel has no game {full_name!r}: {_first_line(error)}") from error
    _check_kind(text, game)
    return game, full_name


def _import_modules(full_name: str) -> None:
    """Import the modules that may register a game in Python.

    Raises:
        ConfigError: a module that the user named cannot be imported.
    """
    if _OWN_MARK in full_name:
        with suppress(ImportError):  # the name is then reported as unknown
            import_module(_OWN_MODULE)
    for module in filter(None, os.environ.get(IMPORTS, "").split(",")):
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            import_module(module)
        except (Exception, SystemExit) as error:  # a module of the user may raise anything
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
    module: ModuleType = library
    return module


@contextmanager
def unprinted() -> Iterator[None]:
    """Keep standard error free of what OpenSpiel, in C++, prints beside its exceptions."""
    with _printing:
        shown = os.dup(2)
        try:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def _check_name(full_name: str) -> None:
    """Refuse unknown names."""
    name = full_name.partition("(")[0].strip()
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
        ConfigError: a machine cannot play it; the message says why.
    """
    kinds, kind = pyspiel().GameType, game.get_type()
    reason = None
    if kind.dynamics == kinds.Dynamics.MEAN_FIELD:
        reason = "it is a mean-field game, which is played by a population, not by players"
    elif kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
        reason = (
            "its chance is sampled inside the game, so other outcomes and their probabilities are "
            "unknown"
        )
    elif kind.action_structs_only:
        reason = "its actions are structures, not numbers"
    elif not all(map(math.isfinite, (game.min_utility(), game.max_utility()))):
        reason = "its utilities have no bounds, so they cannot be made goals of 0 to 100"
    elif not (
        kind.provides_information_state_string or kind.provides_observation_string or is_open(game)
    ):
        reason = "it does not define what its players see"
    if reason is not None:
        raise ConfigError(f"{text} cannot be played: {reason}")


@cache
def _warn(text: str, fault: str) -> None:
    """Warn once of a fault of a game."""
    _log.warning("%s: %s", text, fault)


def _unlike_roles(strings: Strings) -> str:
    """A phrase for messages: in which way players of a game differ from roles of GDL-II."""
    if strings.forgotten:
        return f"a player forgets what it did before information state {strings.forgotten!r}"
    return "an information state lies at several depths, and roles of GDL-II count turns"


def _with_turns(full_name: str) -> str:
    name, _, rest = full_name.partition("(")
    comma = "," if rest.strip(" )") else ""
    return f"{name.strip()}({_TURNS_HIDDEN}={_TURNS_SHOWN}{comma}{rest or ')'}"


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


# ------------------------------------------------------------------------
# Tests whether the strings of a game of OpenSpiel leak hidden information, or hide legal moves.
#
# OpenSpiel defines `information_state_string` for the player that acts, and most games have one for
# the other players, too. Some games give them the knowledge of the acting player: for example all
# games from files of Gambit. So we walk through the game, breadth first and then in random matches,
# up to a bound on states.
#
# Rule: a player that acts knows its information state, and no more. If two histories lead a player
# to the same information state by the same moves of its own, but gave it different strings on the
# way, these strings leaked.
#
# The same walks show whether players forget their moves, or cannot count turns, and whether two
# histories with the same path of a player give it different legal actions.

MAX_STATES = 1_000
"""Most states that walks visit: all states of a small game."""

MAX_TURNS = 50
"""Length of a walk: later, information states hardly ever recur."""

MAX_COMPARED = 400
"""Most states in which tensors are compared with strings: enough for quoridor's."""

_SHARE = 0.5
"""Share of states that are visited breadth first; the rest are visited in random matches."""


@dataclass(slots=True)
class Strings:
    """Faults of the strings of information states, as far as walks through a game showed them.

    Attributes:
        leak: whether strings show a player that does not act hidden information.
        hide_turns: whether a player has the same information state in different turns.
        forgotten: an information state that follows different moves of its player; empty for none.
        unknowable: a string at which a path does not determine legal actions; empty for none.
        chance_turns: most turns of chance in a walk; at least OpenSpiel's bound, which is wrong
            in some games, if a walk did not end.
    """

    leak: bool = False
    hide_turns: bool = False
    forgotten: str = ""
    unknowable: str = ""
    chance_turns: int = field(default=0, compare=False)


class _Memory(NamedTuple):
    """The memory of a player, as ids that are equal for equal memories.

    Attributes:
        last: its last string.
        strings: id of all its strings, repetitions once, and the moves between them.
        choices: id of its information states and moves.
        turns: id of the turns of its moves.
        path: id of its moves and new strings, turn by turn.
    """

    last: str | None
    strings: int
    choices: int
    turns: int
    path: int


def examine(game: Any, most_states: int = MAX_STATES) -> Strings:
    """Walk through a game of imperfect information, and report faults of its strings.

    Args:
        game: the `pyspiel.Game`.
        most_states: most states to visit.
    """
    return _Walks(game).walk(most_states)


_Moves = dict[int, int]
"""The actions of a turn, by player."""


def unlike_tensors(game: Any, most_states: int = MAX_COMPARED) -> str:
    """How the tensors of players that act differ from their strings, in random walks.

    Args:
        game: the `pyspiel.Game`.
        most_states: most states to visit.

    Returns:
        `more than`, `less than` or `other things than`; empty if they tell the same, or there are
        none.
    """
    kind, rng = game.get_type(), Random(0)
    views = [
        view
        for view in ("information_state", "observation")
        if getattr(kind, f"provides_{view}_string") and getattr(kind, f"provides_{view}_tensor")
    ]
    known: dict[tuple[object, ...], object] = {}
    more = less = False
    with unprinted(), suppress(RuntimeError):  # of a view that is promised, and not there
        state = game.new_initial_state()
        for turn in range(most_states if views else 0):
            if state.is_terminal() or turn % MAX_TURNS == 0:
                state = game.new_initial_state()
            for view, player in product(views, range(game.num_players())):
                if acts(state, player):
                    string = getattr(state, f"{view}_string")(player)
                    tensor = tuple(getattr(state, f"{view}_tensor")(player))
                    more |= known.setdefault((view, player, string), tensor) != tensor
                    less |= known.setdefault((view, player, tensor), string) != string
            state, _ = _random_child(state, rng)
    return "other things than" if more and less else "more than" * more or "less than" * less


class _Walks:
    """Walks through a game, which compare the memories of players at equal information states."""

    def __init__(self, game: Any) -> None:
        self._root = game.new_initial_state()
        self._players = range(game.num_players())
        self._chance_bound: int = game.max_chance_nodes_in_history()
        self._numbers: dict[tuple[object, ...], int] = {}
        self._first_visits: dict[tuple[int, str], tuple[_Memory, int]] = {}
        self._first_legal: dict[tuple[int, int], list[int]] = {}
        self._kind = game.get_type()
        self._remembers: bool = self._kind.provides_information_state_string
        self._faults = Strings()

    def walk(self, most_states: int) -> Strings:
        rng, budget = Random(0), most_states
        blank = [_Memory(None, 0, 0, 0, 0) for _ in self._players]
        queue = deque([(self._root, self._remember(self._root, blank, {}, 0), 0)])
        while queue and budget > most_states * (1 - _SHARE):
            state, memories, turn = queue.popleft()
            for child, moves in islice(_children(state), budget):
                budget -= 1
                child_memories = self._remember(child, memories, moves, turn + 1)
                if not child.is_terminal():
                    queue.append((child, child_memories, turn + 1))
        while queue and budget > 0:
            state, memories, turn = queue[rng.randrange(len(queue))]
            steps = min(budget, MAX_TURNS)
            while not state.is_terminal() and steps > 0:
                steps -= 1
                state, moves = _random_child(state, rng)
                budget, turn = budget - 1, turn + 1
                memories = self._remember(state, memories, moves, turn)
            chance_turns = sum(choice.player < 0 for choice in state.full_history())
            if budget > 0 and not state.is_terminal():
                chance_turns = max(chance_turns, self._chance_bound)
            self._faults.chance_turns = max(self._faults.chance_turns, chance_turns)
        return self._faults

    def _remember(
        self, state: Any, memories: list[_Memory], moves: _Moves, turn: int
    ) -> list[_Memory]:
        """The memories of the players in a state, given those before the moves that led there."""
        updated = []
        for player, memory in zip(self._players, memories, strict=True):
            strings, choices, turns = memory.strings, memory.choices, memory.turns
            if player in moves:
                strings = self._number(strings, moves[player])
                choices = self._number(choices, memory.last, moves[player])
                turns = self._number(turns, turn)
            words = None if state.is_terminal() else knowledge_of(state, player, self._kind)
            if words != memory.last:
                strings = self._number(strings, words)
            news = words if words != memory.last else None
            path = self._number(memory.path, "path", moves.get(player), news, acts(state, player))
            new = _Memory(words, strings, choices, turns, path)
            updated.append(new)
            if words is not None and acts(state, player):
                legal = state.legal_actions(player)
                if self._first_legal.setdefault((player, path), legal) != legal:
                    self._faults.unknowable = self._faults.unknowable or words
                if self._remembers:
                    self._compare(player, words, new, turn)
        return updated

    def _compare(self, player: int, words: str, memory: _Memory, turn: int) -> None:
        """Compare with the first visit of the same information state of a player that acts."""
        first, first_turn = self._first_visits.setdefault((player, words), (memory, turn))
        if first.choices != memory.choices:
            self._faults.forgotten = self._faults.forgotten or words
        elif first.strings != memory.strings:
            self._faults.leak = True
        self._faults.hide_turns |= first_turn != turn or first.turns != memory.turns

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def acts(state: Any, player: int) -> bool:
    """Whether a player, as opposed to chance, has a choice in a `pyspiel.State`."""
    if state.is_simultaneous_node():
        return bool(state.legal_actions(player))
    return bool(state.current_player() == player)


def knowledge_of(state: Any, player: int, kind: Any) -> str | None:
    """OpenSpiel's string for a player's knowledge in a `pyspiel.State` of a game of this kind; None
    where there is none."""
    try:
        if kind.provides_information_state_string:
            return str(state.information_state_string(player))
        return str(state.observation_string(player)) if kind.provides_observation_string else None
    except RuntimeError:  # OpenSpiel's error is a subclass
        return None


def _children(state: Any) -> Iterator[tuple[Any, _Moves]]:
    """The states after each joint move."""
    if not state.is_simultaneous_node():
        player = state.current_player()
        for action in state.legal_actions():
            yield state.child(action), {player: action}
        return
    players = range(state.num_players())
    for actions in product(*(state.legal_actions(player) or [0] for player in players)):
        child = state.clone()
        child.apply_actions(list(actions))
        yield child, dict(enumerate(actions))


def _random_child(state: Any, rng: Random) -> tuple[Any, _Moves]:
    """The state after a random joint move."""
    if not state.is_simultaneous_node():
        action = rng.choice(state.legal_actions())
        return state.child(action), {state.current_player(): action}
    players = range(state.num_players())
    actions = [rng.choice(state.legal_actions(player) or [0]) for player in players]
    child = state.clone()
    child.apply_actions(actions)
    return child, dict(enumerate(actions))
