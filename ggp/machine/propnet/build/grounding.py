"""From rules to ground rules: clingo's grounder run on a translated game.

This is the only module that talks to clingo. Grounding may take any time and memory: strangers'
rules are grounded in a child process (see `child.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError, MachineError, ReasonerLimitError
from ggp.gdl.dependencies import static_relations
from ggp.gdl.growth import terms_grow
from ggp.gdl.program import GOAL, NormalRule, Program, value_order
from ggp.gdl.terms import Signature, signature
from ggp.gdl.unchanging import always_true, unchanging, with_unchanging
from ggp.gdl.what_grows import what_grows
from ggp.libraries import demand_library
from ggp.machine.propnet.build.alternatives import with_alternatives
from ggp.machine.propnet.build.aspif import AspifReader, Ground
from ggp.machine.propnet.build.decompose import cost, decompose, project_locals
from ggp.machine.propnet.build.demand import restricted
from ggp.machine.propnet.build.differences import with_differences
from ggp.machine.propnet.build.extents import Extents, Table, table_of
from ggp.machine.propnet.build.ground_program import ALWAYS, GroundProgram, Named
from ggp.machine.propnet.build.lasting import lasting_fluents
from ggp.machine.propnet.build.parting import LISTED, in_parts
from ggp.machine.propnet.build.simplify import NEVER, simplify
from ggp.machine.propnet.build.translate import RANKED, Translation, translate, with_ranks

try:
    import clingo
except ImportError as error:
    demand_library(error, "clingo")
    raise BackendUnavailableError(
        "clingo", f"install it with `pip install clingo` ({error})"
    ) from error

if TYPE_CHECKING:
    from clingo import Symbol

MAX_TERM_SIZE = 2_000
"""Functions in one fluent, move or percept."""

MAX_COUNTED = 20_000
"""Atoms of a relation that are counted to decide which rules to split."""

LARGE = 3_000_000.0
"""Where ground rules are expected to cost more, they are made only for what is asked for."""

MAX_UNCHECKED_DEPTH = 4
"""Where functions cannot nest deeper than this, the size of terms is not checked."""

_WITH_ROLE = frozenset({"does", "legal", "sees"})

_TOKEN = re.compile(r"f?([0-9]+)(\()?|,")


def ground(program: Program, *, split: bool = True, listed: float | None = LISTED) -> GroundProgram:
    """The ground rules of a game.

    Args:
        program: normalised rules.
        split: whether to split rules where that gives fewer ground rules.
        listed: moves of `random` of one kind that are listed; more are made part by part, if they
            can be (see `parting`). None for any number.

    Raises:
        MachineError: clingo failed.
        ReasonerLimitError: a term is too large, or terms grow for ever.
        MemoryError: there is not enough memory.
    """
    if listed is not None:
        program = in_parts(program, lambda: _fixed_tables(program.rules), listed)
    rules = with_ranks(program.rules, program.goal_ranks)
    kept = unchanging(rules)
    rules = project_locals([*with_unchanging(rules, kept), *always_true(kept)])
    if split:
        # Where `goal` leads back to itself, it does so through its rules with ranks.
        recursive = program.recursive | ({RANKED} if GOAL in program.recursive else set())
        rules = _split(program.roles, rules, recursive)
    translation = translate(program.roles, rules)
    text, may_grow = translation.text, terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
    if may_grow:
        endless = what_grows(program.rules, surely=True) is not None
        fluents = lasting_fluents(
            translation, lambda part: _run_clingo(part, _TermSizes()), endless=endless
        )
        if fluents is not None:
            text = translation.of_states((), fluents)
    return _ground_program(program.roles, translation, _ground(text, may_grow=may_grow))


def _split(
    roles: Sequence[str], rules: Sequence[NormalRule], recursive: frozenset[Signature]
) -> list[NormalRule]:
    """Rules with fewer instances; first those that become facts, which can then be counted."""
    static = static_relations(rules)
    fixed = [rule for rule in rules if signature(rule.head) in static]
    moving = [rule for rule in rules if signature(rule.head) not in static]
    fixed = decompose(fixed, Extents(rules, static, {}), prefix="fixed")
    counted = _count(fixed)
    extents = Extents(rules, static, counted)
    parts = decompose(moving, extents, recursive)
    if cost(parts, extents) <= LARGE:
        return [*fixed, *parts]
    static |= frozenset(signature(rule.head) for rule in fixed)
    moving = with_differences([*fixed, *with_alternatives(moving)], static)[len(fixed) :]
    extents = Extents([*fixed, *moving], static, counted)
    asked = with_alternatives(decompose(moving, extents, recursive, asked=True), "or")
    return restricted(roles, [*fixed, *asked], static, extents) or [*fixed, *parts]


def _fixed_tables(rules: Sequence[NormalRule]) -> dict[Signature, Table]:
    """How many atoms the relations of a game have that depend on nothing."""
    static = static_relations(rules)
    return _count(project_locals([rule for rule in rules if signature(rule.head) in static]))


def _count(rules: Sequence[NormalRule]) -> dict[Signature, Table]:
    """How many atoms relations have that depend on nothing."""
    if not any(rule.body for rule in rules):
        return {}
    translation = translate((), rules)
    control = _run_clingo(translation.text)
    tables = {}
    for name, arity, _ in control.symbolic_atoms.signatures:
        relation = translation.relation(name)
        if relation is not None and arity:
            atoms = islice(control.symbolic_atoms.by_signature(name, arity), MAX_COUNTED)
            rows = [atom.symbol.arguments for atom in atoms]
            if rows:
                tables[relation, arity] = table_of(rows)
    return tables


class _TermTooLarge(Exception):
    """What an observer raises clingo makes anew from its class: it must need no arguments."""


class _TermSizes(clingo.Observer):
    """Refuses atoms with terms that would be too large as text, before they are written.

    Terms that grow have most of their parts in common: each part is counted once.
    """

    def __init__(self) -> None:
        self._sizes: dict[Symbol, int] = {}

    def output_atom(self, symbol: Symbol, atom: int) -> None:
        if self._size(symbol) > MAX_TERM_SIZE:
            raise _TermTooLarge

    def _size(self, symbol: Symbol) -> int:
        """Functions inside of a term."""
        size, open_ = 0, [(symbol, _functions_in(symbol))]
        sizes = [0]
        while open_:
            term, parts = open_[-1]
            for part in parts:
                known = self._sizes.get(part)
                if known is None:
                    open_.append((part, _functions_in(part)))
                    sizes.append(1)
                    break
                sizes[-1] += known
            else:
                open_.pop()
                size = sizes.pop()
                if sizes:
                    self._sizes[term] = size
                    sizes[-1] += size
        return size


def _functions_in(symbol: Symbol) -> Iterator[Symbol]:
    return (each for each in symbol.arguments if each.type is _FUNCTION)


_FUNCTION = clingo.SymbolType.Function


def _ground(text: str, *, may_grow: bool) -> Ground:
    """What a translated game becomes."""
    with AspifReader() as reader:
        _run_clingo(text, _TermSizes() if may_grow else None, reader.path)
    return reader.result()


def _run_clingo(
    text: str, observer: clingo.Observer | None = None, path: str | None = None
) -> clingo.Control:
    """A program that has been ground: looked at by an observer first, and written to a file."""
    messages: list[str] = []
    try:
        control = clingo.Control(["--warn=none"], lambda _, message: messages.append(message))
        if path is None:
            control.register_observer(clingo.Observer(), replace=True)
        else:
            control.register_backend(clingo.BackendType.Aspif, path, replace=True)
        if observer is not None:
            # The last one is told first.
            control.register_observer(observer)
        control.add("base", [], text)
        control.ground([("base", [])])
    except _TermTooLarge as error:
        raise ReasonerLimitError(
            "functions in one term", MAX_TERM_SIZE, "grounding the rules"
        ) from error
    except RuntimeError as error:
        said = "; ".join([str(error), *messages[:3]])
        raise MachineError(f"clingo cannot ground the rules: {said}") from error
    return control


def _ground_program(
    roles: tuple[str, ...], translation: Translation, ground: Ground
) -> GroundProgram:
    rules = simplify(ground.rules, ground.inputs)
    tables = _Tables(translation.names, rules.atoms)
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


class _Tables:
    """The atoms of interest by relation, as KIF."""

    def __init__(self, names: Sequence[str], atoms: NDArray[np.int32]) -> None:
        self._names = names
        self._atoms = atoms
        self._found: dict[str, list[tuple[str, int]]] = {}
        self._by_role: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._goals: dict[str, list[tuple[int, str, int]]] = {}
        self._kif: dict[str, str] = {}
        self.terminal: int | None = None

    def add(self, text: str, atom: int) -> None:
        """An atom as clingo prints it, like `legal(3,f17(4,5))`, and its number there."""
        number = int(self._atoms[atom])
        if number == NEVER:
            return
        relation, _, rest = text.partition("(")
        if relation == "terminal":
            self.terminal = number
        elif relation == "ranked":
            rank, role, value = rest[:-1].split(",", 2)
            if role.isdecimal():
                found = self._goals.setdefault(self._names[int(role)], [])
                found.append((int(self._names[int(rank)]), self._text(value), number))
        elif relation in _WITH_ROLE:
            role, _, term = rest[:-1].partition(",")
            if role.isdecimal():
                key = (relation, self._names[int(role)])
                self._by_role.setdefault(key, []).append((self._text(term), number))
        else:
            self._found.setdefault(relation, []).append((self._text(rest[:-1]), number))

    def named(self, relation: str) -> Named:
        """The terms of `init`, `true` or `next`, sorted."""
        return tuple(sorted(self._found.get(relation, ())))

    def by_role(self, relation: str, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role the terms of `does`, `legal` or `sees`, sorted."""
        return tuple(tuple(sorted(self._by_role.get((relation, role), ()))) for role in roles)

    def goals(self, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role the values of `goal` in the order in which they count."""
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
        known = self._kif.get(term)
        if known is None:
            known = self._kif[term] = _TOKEN.sub(self._token, term)
        return known

    def _token(self, match: re.Match[str]) -> str:
        number, opens = match.groups()
        if number is None:
            return " "
        name = self._names[int(number)]
        return f"({name} " if opens else name
