"""Grounds rules: runs gringo, clingo's grounder, on a translated game.

In comes a `Program`, out goes a `GroundProgram`. `ground` splits the rules (`rewriting.splits`),
translates them (`rewriting.translate`), reads gringo's output (`aspif`) and simplifies it
(`simplify`). This is the only module that calls the grounder. Grounding may take any time and
memory, so strangers' rules are ground in a child process (see `compile.circuits`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.gdl.analysis.dependencies import static_relations
from ggp.gdl.analysis.growth import growing_term, terms_grow
from ggp.gdl.program import NormalRule, Program, value_order
from ggp.libraries import demand_library
from ggp.machine.base import Limits
from ggp.machine.propnet.compile.ground_rules.aspif import AspifReader, Ground
from ggp.machine.propnet.compile.ground_rules.forecast import (
    Counter,
    GroundingForecast,
    Watch,
    forecast,
    too_many,
)
from ggp.machine.propnet.compile.ground_rules.simplify import (
    ALWAYS,
    NEVER,
    GroundProgram,
    Named,
    simplify,
)
from ggp.machine.propnet.compile.rewriting.extents import Extents, table_of
from ggp.machine.propnet.compile.rewriting.splits import (
    MAX_FACTS,
    Split,
    Tables,
    asked_for,
    whole_rules,
)
from ggp.machine.propnet.compile.rewriting.splits import split as split_rules
from ggp.machine.propnet.compile.rewriting.translate import Translation, translate

if TYPE_CHECKING:
    from clingo import Control, Symbol, SymbolicAtom


try:
    import clingo
except ImportError as error:
    demand_library(error, "clingo")
    raise BackendUnavailableError(
        "clingo", f"install it with `pip install clingo` ({error})"
    ) from error

MAX_TERM_SIZE = 2_000
"""Greatest number of functions in one fluent, move or percept."""

MAX_COUNTED = 20_000
"""Greatest number of atoms of a relation that are counted to decide which rules to split."""

MAX_UNCHECKED_DEPTH = 4
"""If functions cannot nest deeper than this, the size of terms is not checked."""


def ground(
    program: Program,
    *,
    split: bool = True,
    watch: Watch | None = None,
) -> GroundProgram:
    """The ground rules of a game.

    Args:
        program: normalised rules.
        split: whether to split rules where that gives fewer ground rules.
        watch: callbacks about the progress; None to ground any number of rules.

    Raises:
        MachineError: clingo failed.
        ReasonerLimitError: a term is too large, terms grow for ever, or rules become too many.
        MemoryError: there is not enough memory.
    """
    if split:
        expected_split = None if watch is None else _foreseen(program, watch)
        rules = asked_for(program, expected_split or split_rules(program, _counted))
    else:
        rules = whole_rules(program)
    translation = translate(program.roles, rules)
    if terms_grow(program.rules, MAX_UNCHECKED_DEPTH):
        endless = growing_term(program.rules, surely=True) is not None
        fluents = lasting_fluents(
            translation, lambda part: _grounded(part, _TermSizes()), endless=endless
        )
        states = translation.text if fluents is None else translation.of_states((), fluents)
        ground_rules = _ground(states, may_grow=True, watch=watch)
    else:
        ground_rules = _ground(translation.text, may_grow=False, watch=watch)
    return _ground_program(program.roles, translation, ground_rules)


def foresee(program: Program, limits: Limits) -> GroundingForecast:
    """The forecast of the number of ground rules; takes less than a second.

    Args:
        program: normalised rules.
        limits: if far too many rules are expected for these, the rules restricted to relevant atoms
            are estimated as well, and the lower number is taken.
    """
    return _foresee(program, limits)[0]


def _foreseen(program: Program, watch: Watch) -> Split | None:
    """The split rules, or None if facts were not counted for them; raises if it is hopeless."""
    expected, split = _foresee(program, watch.limits)
    watch.foreseen(expected)
    if expected.verdict(watch.limits) == "no":
        raise too_many(watch.limits, expected.cause(program))
    return split


def _foresee(program: Program, limits: Limits) -> tuple[GroundingForecast, Split | None]:
    is_sure = not terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
    # Facts whose terms grow may be infinitely many.
    split = split_rules(program, _counted, MAX_FACTS if is_sure else 0.0)
    expected = _forecast(program, split, split.rules, is_sure=is_sure)
    if expected.verdict(limits) == "no":
        fewer = _forecast(program, split, asked_for(program, split), is_sure=is_sure)
        expected = min(expected, fewer, key=lambda estimate: estimate.rules)
    return expected, split if split.is_counted else None


def _forecast(
    program: Program, split: Split, rules: Sequence[NormalRule], *, is_sure: bool
) -> GroundingForecast:
    static = static_relations(rules)
    # If counting stopped at the limit, estimates by rules are better.
    tables = {key: table for key, table in split.counted.items() if table.size < MAX_COUNTED}
    extents = Extents(rules, static, tables)
    return forecast(program, rules, static, extents, is_sure=is_sure)


class _TermTooLarge(Exception):
    """Raised by an observer. Clingo makes it again from its class, so it takes no arguments."""


class _TermSizes(clingo.Observer):
    """Refuses atoms with terms that would be too large as text, before they are written.

    Terms that grow share most of their parts, so each part's size is computed once.
    """

    def __init__(self) -> None:
        self._sizes: dict[Symbol, int] = {}

    def output_atom(self, symbol: Symbol, atom: int) -> None:
        if self._size(symbol) > MAX_TERM_SIZE:
            raise _TermTooLarge

    def _size(self, symbol: Symbol) -> int:
        """Number of functions inside a term, with a stack in place of recursion."""
        size, open_ = 0, [(symbol, _functions_in(symbol))]
        sizes = [0]
        while open_:
            term, parts = open_[-1]
            for part in parts:
                part_size = self._sizes.get(part)
                if part_size is None:
                    open_.append((part, _functions_in(part)))
                    sizes.append(1)
                    break
                sizes[-1] += part_size
            else:
                open_.pop()
                size = sizes.pop()
                if sizes:
                    self._sizes[term] = size
                    sizes[-1] += size
        return size


def _functions_in(symbol: Symbol) -> Iterator[Symbol]:
    return (argument for argument in symbol.arguments if argument.type is _FUNCTION)


_FUNCTION = clingo.SymbolType.Function


def _counted(rules: Sequence[NormalRule]) -> Tables:
    """Count the atoms of relations that depend neither on states nor on moves."""
    if not any(rule.body for rule in rules):
        return {}
    translation = translate((), rules)
    control = _grounded(translation.fixed)
    tables = {}
    for name, arity, _ in control.symbolic_atoms.signatures:
        relation = translation.relation(name)
        if relation is not None and arity:
            atoms = islice(control.symbolic_atoms.by_signature(name, arity), MAX_COUNTED)
            rows = [atom.symbol.arguments for atom in atoms]
            if rows:
                tables[relation, arity] = table_of(rows)
    return tables


def _ground(text: str, *, may_grow: bool, watch: Watch | None = None) -> Ground:
    """The ground rules of a translated game."""
    with AspifReader(None if watch is None else Counter(watch).add) as reader:
        _grounded(text, _TermSizes() if may_grow else None, reader.path)
    return reader.result()


def _grounded(
    text: str, observer: clingo.Observer | None = None, path: str | None = None
) -> clingo.Control:
    """A clingo program, ground; clingo closes the file when it is no longer referenced.

    Args:
        observer: receives all atoms before they are written.
        path: the file for ground rules, or None to discard them.
    """
    messages: list[str] = []
    control = clingo.Control(["--warn=none"], lambda _, message: messages.append(message))
    if path is None:
        control.register_observer(clingo.Observer(), replace=True)
    else:
        control.register_backend(clingo.BackendType.Aspif, path, replace=True)
    if observer is not None:
        # The observer registered last is called first.
        control.register_observer(observer)
    try:
        control.add(text)
        control.ground()
    except _TermTooLarge as error:
        raise ReasonerLimitError(
            "functions in one term", MAX_TERM_SIZE, "grounding the rules"
        ) from error
    except RuntimeError as error:
        details = "; ".join([str(error), *messages[:3]])
        raise MachineError(f"clingo cannot ground the rules: {details}") from error
    return control


def _ground_program(
    roles: tuple[str, ...], translation: Translation, ground: Ground
) -> GroundProgram:
    rules = simplify(ground.rules, ground.inputs)
    tables = AtomTables(translation.names, rules.atoms)
    for text, atom in ground.atoms:
        tables.add(text, atom)
    if any(atom != ALWAYS for _, atom in tables.named("init")):
        raise MachineError("the initial state could not be determined by grounding")
    return GroundProgram(
        roles=roles,
        heads=rules.heads,
        offsets=np.concatenate([[0], np.cumsum(rules.sizes, dtype=np.int64)]),
        conditions=rules.conditions,
        initial=tuple(text for text, _ in tables.named("init")),
        fluents=tables.named("true"),
        next=tables.named("next"),
        does=tables.by_role("does", roles),
        legal=tables.by_role("legal", roles),
        sees=tables.by_role("sees", roles),
        goals=tables.goals(roles),
        terminal=tables.terminal,
    )


# ------------------------------------------------------------------------
# Turns the atoms that gringo prints as numbers into KIF, by relation.

_WITH_ROLE = frozenset({"does", "legal", "sees"})

_TOKEN = re.compile(r"f?([0-9]+)(\()?|,")


class AtomTables:
    """The named atoms of a circuit: fluents, moves, percepts, goals and `terminal`.

    Args:
        names: names of the rulesheet, by their numbers in texts of atoms.
        atoms: the number of each atom after simplification; `NEVER` if it cannot hold.
    """

    def __init__(self, names: Sequence[str], atoms: NDArray[np.int32]) -> None:
        self._names = names
        self._atoms = atoms
        self._by_relation: dict[str, list[tuple[str, int]]] = {}
        self._by_role: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._goals: dict[str, list[tuple[int, str, int]]] = {}
        self._kif: dict[str, str] = {}
        self.terminal: int | None = None

    def add(self, text: str, atom: int) -> None:
        """Add an atom as clingo prints it, such as `legal(3,f17(4,5))`, with clingo's number."""
        number = int(self._atoms[atom])
        if number == NEVER:
            return
        relation, _, rest = text.partition("(")
        if relation == "terminal":
            self.terminal = number
        elif relation == "ranked":
            rank, role, value = rest[:-1].split(",", 2)
            if role.isdecimal():
                goals = self._goals.setdefault(self._names[int(role)], [])
                goals.append((int(self._names[int(rank)]), self._text(value), number))
        elif relation in _WITH_ROLE:
            role, _, term = rest[:-1].partition(",")
            if role.isdecimal():
                key = (relation, self._names[int(role)])
                self._by_role.setdefault(key, []).append((self._text(term), number))
        else:
            self._by_relation.setdefault(relation, []).append((self._text(rest[:-1]), number))

    def named(self, relation: str) -> Named:
        """The terms of `init`, `true` or `next`, sorted."""
        return tuple(sorted(self._by_relation.get(relation, ())))

    def by_role(self, relation: str, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role, the terms of `does`, `legal` or `sees`, sorted."""
        return tuple(tuple(sorted(self._by_role.get((relation, role), ()))) for role in roles)

    def goals(self, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role, the values of `goal` in the order in which they count."""
        return tuple(
            tuple(
                (value, atom)
                for _, value, atom in sorted(
                    self._goals.get(role, ()), key=lambda goal: (goal[0], value_order(goal[1]))
                )
            )
            for role in roles
        )

    def _text(self, term: str) -> str:
        kif = self._kif.get(term)
        if kif is None:
            kif = self._kif[term] = _TOKEN.sub(self._token, term)
        return kif

    def _token(self, match: re.Match[str]) -> str:
        number, opens = match.groups()
        if number is None:
            return " "
        name = self._names[int(number)]
        return f"({name} " if opens else name


# ------------------------------------------------------------------------
# Finds the reachable fluents turn by turn, for games that end though their terms could grow for
# ever.
#
# Grounding ignores `terminal`: it finds what may hold in any turn as if the game never ended. If a
# fluent counts with functions, as in (heap (s (s z))), that never stops, though a game of eight
# turns can reach only nine such terms. So the game is followed turn by turn, with the fluents that
# may hold and the fluents that surely hold:
#
#     turn   surely     maybe                            terminal
#     0      (step 0)   (heap z)                         maybe
#     1      (step 1)   (heap z) (heap (s z))            maybe
#     2      (step 2)   (heap z) ... (heap (s (s z)))    in all such states: no other turn follows
#
# Each turn is ground with every possible fluent free to hold or not, and every legal move free to
# be made or not. A fluent that grounding then derives may hold in the next turn, and one that it
# derives as a fact surely holds. So the sets contain all that a match can reach: the result is
# sound. A fluent that surely ends the game, such as the third heap if three are enough, is dropped
# from the turns that follow.

MAX_LETTERS = 3_000_000
"""Total letters of programs after which the search is given up, some seconds: grounding the whole
game may be as fast. It is no limit in seconds, so that equal rules always give equal circuits."""

_LETTERS_MORE = 2_000
"""The fixed cost of grounding a program, in letters."""

MAX_ASKED = 32
"""Greatest number of fluents in a turn that are tested for ending the game; if more, none is."""

Run = Callable[[str], "Control"]


def lasting_fluents(
    translation: Translation, run: Run, *, endless: bool = False
) -> list[str] | None:
    """The fluents that may hold in some turn of a game that ends; None if no end is found.

    Args:
        translation: the translated game.
        run: grounds a program.
        endless: whether terms grow for ever if the game does not end, so that the whole game cannot
            be ground instead.

    Returns:
        their terms as clingo prints them, sorted.

    Raises:
        ReasonerLimitError: no end is found, and terms grow for ever.
    """
    turns = _Turns(translation, run)
    start = turns.ground(frozenset(), frozenset())
    certain = frozenset(fluent for fluent, _ in _terms(start, "init"))
    possible = certain
    shallow = max(map(_depth, certain), default=0)
    lasting: set[str] = set()
    seen: set[tuple[frozenset[str], frozenset[str]]] = set()
    enders: set[str] = set()
    # A repeated turn adds nothing new.
    while (certain, possible) not in seen:
        seen.add((certain, possible))
        # Only new fluents with deeper terms are tested: others are finitely many.
        deep = {f for f in possible - lasting if _depth(f) > shallow}
        lasting |= possible
        if turns.letters > MAX_LETTERS:
            if endless and deep:
                raise ReasonerLimitError("letters", MAX_LETTERS, "grounding the rules by turns")
            return None
        turn = turns.ground(certain, possible)
        if _ends(turn):
            break
        candidates = (deep | enders) & possible
        if len(candidates) > MAX_ASKED:
            candidates = set()
        new_enders = {f for f in candidates if _ends(turns.ground(certain | {f}, possible))}
        enders |= new_enders
        if new_enders:
            turn = turns.ground(certain, possible - new_enders)
        following = _terms(turn, "next")
        certain = frozenset(fluent for fluent, sure in following if sure)
        possible = frozenset(fluent for fluent, _ in following)
    return sorted(lasting)


class _Turns:
    """Grounds single turns, and counts the letters of their programs."""

    def __init__(self, translation: Translation, run: Run) -> None:
        self._translation, self._run = translation, run
        self.letters = 0

    def ground(self, certain: frozenset[str], possible: frozenset[str]) -> Control:
        text = self._translation.of_states(sorted(certain), sorted(possible - certain))
        self.letters += len(text) + _LETTERS_MORE
        return self._run(text)


def _terms(control: Control, name: str) -> list[tuple[str, bool]]:
    """The terms of `init` or `next` that may hold, and whether each surely does."""
    atoms = control.symbolic_atoms.by_signature(name, 1)
    return [(str(atom.symbol.arguments[0]), atom.is_fact) for atom in atoms]


def _ends(control: Control) -> bool:
    """Whether all states of a ground turn are terminal."""
    atoms: list[SymbolicAtom] = list(control.symbolic_atoms.by_signature("terminal", 0))
    return any(atom.is_fact for atom in atoms)


def _depth(term: str) -> int:
    """The depth to which functions nest."""
    depth = deepest = 0
    for letter in term:
        if letter == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif letter == ")":
            depth -= 1
    return deepest
