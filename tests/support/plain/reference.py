"""What a rulesheet means, evaluated in the plainest way: slow, and nothing shared with ggp.

Rules are read as they were written, before any normalisation. The model of one state (and
joint move) is built bottom up, one group of mutually dependent relations after the other;
where a group negates itself, by alternating between too many and too few facts until both
agree (Van Gelder's alternating fixpoint, which gives the perfect model of stratified rules).

A constant is a `str`, a function or atom a tuple of its name and arguments, a variable `Var`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ggp.gdl import parse_term
from ggp.gdl.program import Program
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable

Value = str | tuple["Value", ...]
"""A ground term."""

State = frozenset[Value]
Name = tuple[str, int]
Binding = Mapping[str, Value]


class Var(NamedTuple):
    """A variable."""

    name: str
    is_variable: bool = True


Pattern = str | Var | tuple["Pattern", ...]


class UnboundError(Exception):
    """A condition whose variables nothing binds; such rules are not for this evaluator."""


@dataclass(frozen=True)
class _Condition:
    """An atom, a `distinct`, or a `not`; a `not` holds if none of its alternatives does."""

    kind: str
    name: Name
    args: tuple[Pattern, ...]
    alternatives: tuple[_Body, ...]
    variables: frozenset[str]


_Body = tuple[_Condition, ...]


@dataclass(frozen=True)
class _Rule:
    """`uses` are the relations in the body, and whether they are negated there.

    `written` is equal for those that are read of one rule of the rulesheet, else ascending.
    """

    written: int
    name: Name
    args: tuple[Pattern, ...]
    variables: frozenset[str]
    body: _Body
    uses: frozenset[tuple[Name, bool]]


Row = tuple[Value, ...]


class Facts:
    """Argument tuples of each relation, on top of others that do not change any more."""

    def __init__(self, base: Facts | None = None) -> None:
        self.own: dict[Name, set[Row]] = {}
        self._base = base
        self._index: dict[tuple[Name, int], dict[Value, list[Row]]] = {}

    def rows(self, name: Name) -> set[Row]:
        """All argument tuples of a relation."""
        if name in self.own or self._base is None:
            return self.own.get(name, set())
        return self._base.rows(name)

    def rows_with(self, name: Name, argument: int, value: Value) -> Sequence[Row]:
        """Those with this argument."""
        if name not in self.own and self._base is not None:
            return self._base.rows_with(name, argument, value)
        if (name, argument) not in self._index:
            index: dict[Value, list[Row]] = {}
            for row in self.own.get(name, ()):
                index.setdefault(row[argument], []).append(row)
            self._index[name, argument] = index
        return self._index[name, argument].get(value, ())

    def add(self, name: Name, row: Row) -> bool:
        """Whether the fact is new."""
        rows = self.own.setdefault(name, set())
        if row in rows:
            return False
        rows.add(row)
        for i, argument in enumerate(row):
            if (name, i) in self._index:
                self._index[name, i].setdefault(argument, []).append(row)
        return True

    def names(self) -> set[Name]:
        """The relations there are facts of."""
        return set(self.own) | (self._base.names() if self._base else set())


class Moved(NamedTuple):
    """A successor state and the sorted percepts of every role."""

    state: State
    percepts: dict[str, tuple[str, ...]]


class Reference:
    """A game, one state at a time; moves, percepts and roles are KIF texts.

    Args:
        rules: as they were written.
        read_move: reads a move; the names in it are those of the rules.
    """

    def __init__(
        self, rules: Sequence[Rule], read_move: Callable[[str], Term] = parse_term
    ) -> None:
        self._read_move = read_move
        self.roles = tuple(
            rule.head.args[0].name
            for rule in rules
            if isinstance(rule.head, Compound) and rule.head.name == "role"
            if isinstance(rule.head.args[0], Symbol)
        )
        starts: dict[object, int] = {}
        read: list[_Rule] = []
        for i, rule in enumerate(dict.fromkeys(rules)):
            written = starts.setdefault(rule.start if rule.start >= 0 else (i,), len(starts))
            read += _read_rule(rule, written)
        self._rules = _rules_needed([rule for rule in read if rule.name not in (_TRUE, _DOES)])
        self._groups = _groups(self._rules)
        self._plain = "random" not in self.roles and not any(
            rule.name == ("sees", 2) for rule in self._rules
        )
        moving = _reaching(self._rules, {_TRUE, _DOES})
        acting = _reaching(self._rules, {_DOES})
        self._static_groups = [g for g in self._groups if not g & moving]
        self._state_groups = [g for g in self._groups if g & moving and not g & acting]
        self._move_groups = [g for g in self._groups if g & acting]
        self._static = self._model(Facts(), self._static_groups)
        self._memo: tuple[State, Facts] | None = None

    @classmethod
    def of_program(cls, program: Program) -> Reference:
        """The same from normalised rules, for rulesheets that need repairs."""
        reference = cls(
            [
                Rule(
                    rule.head,
                    tuple(Compound("not", (x.atom,)) if x.negated else x.atom for x in rule.body),
                    rule.start,
                )
                for rule in program.rules
            ]
        )
        reference._plain = not program.is_gdl2
        return reference

    def initial(self) -> State:
        """The initial state."""
        return frozenset(row[0] for row in self._static.rows(("init", 1)))

    def terminal(self, state: State) -> bool:
        """Whether the game is over."""
        return bool(self._of_state(state).rows(("terminal", 0)))

    def legal(self, state: State, role: str) -> tuple[str, ...]:
        """The legal moves of a role, sorted."""
        rows = self._of_state(state).rows(("legal", 2))
        return tuple(sorted(text(move) for mover, move in rows if mover == role))

    def goals(self, state: State, role: str) -> tuple[str, ...]:
        """All goal values of a role, sorted as text."""
        rows = self._of_state(state).rows(("goal", 2))
        return tuple(sorted(text(value) for owner, value in rows if owner == role))

    def goal(self, state: State, role: str) -> float:
        """The highest goal value that the first rule with any gives a role, 0 if it has none."""
        facts = self._of_state(state)
        points_of: dict[int, list[float]] = {}
        for rule in self._rules:
            if rule.name == ("goal", 2):
                for start in self._role_bindings(rule):
                    for full in _all_of(rule.body, start, facts, facts, rule.variables):
                        owner, points = (_ground(arg, full) for arg in rule.args)
                        if owner == role:
                            points_of.setdefault(rule.written, []).append(float(text(points)))
        return max(points_of[min(points_of)]) if points_of else 0.0

    def step(self, state: State, moves: Mapping[str, str]) -> Moved:
        """The result of the joint move `moves` (one for every role)."""
        facts = Facts(self._of_state(state))
        for role, move in moves.items():
            facts.add(_DOES, (role, value(self._read_move(move))))
        model = self._model(facts, self._move_groups)
        following = frozenset(row[0] for row in model.rows(("next", 1)))
        if self._plain:
            percepts = tuple(sorted(f"(did {role} {move})" for role, move in moves.items()))
            return Moved(following, dict.fromkeys(self.roles, percepts))
        seen = model.rows(("sees", 2))
        return Moved(
            following,
            {
                role: tuple(sorted(text(percept) for viewer, percept in seen if viewer == role))
                for role in self.roles
            },
        )

    def texts(self, state: State) -> tuple[str, ...]:
        """The fluents as KIF, sorted."""
        return tuple(sorted(map(text, state)))

    def holds(self, relation: str, state: State = frozenset()) -> set[tuple[str, ...]]:
        """The argument tuples of every relation of this name in a state, as KIF."""
        facts = self._of_state(state)
        return {
            tuple(map(text, row))
            for name in facts.names()
            if name[0] == relation
            for row in facts.rows(name)
        }

    def _of_state(self, state: State) -> Facts:
        if self._memo is None or self._memo[0] != state:
            facts = Facts(self._static)
            for fluent in state:
                facts.add(_TRUE, (fluent,))
            self._memo = state, self._model(facts, self._state_groups)
        return self._memo[1]

    def _model(self, facts: Facts, groups: Sequence[frozenset[Name]]) -> Facts:
        for group in groups:
            rules = [rule for rule in self._rules if rule.name in group]
            if any(negated and name in group for rule in rules for name, negated in rule.uses):
                facts = self._alternate(facts, rules)
            else:
                facts = self._closure(facts, rules, None)
        return facts

    def _alternate(self, facts: Facts, rules: Sequence[_Rule]) -> Facts:
        too_few = facts
        while True:
            too_many = self._closure(facts, rules, too_few)
            better = self._closure(facts, rules, too_many)
            if better.own == too_few.own:
                return too_few
            too_few = better

    def _closure(self, facts: Facts, rules: Sequence[_Rule], negated: Facts | None) -> Facts:
        """The facts that follow; negations are looked up in `negated`.

        Without `negated` they are looked up in, and added to, `facts` itself.
        """
        result = facts if negated is None else Facts(facts)
        negations = result if negated is None else negated
        while True:
            new = []
            for rule in rules:
                for start in self._role_bindings(rule):
                    new += _conclude(rule, rule.body, start, result, negations)
            if not new:
                return result
            while new:
                name, row = new.pop()
                for rule in rules:
                    for condition in (c for c in rule.body if (c.kind, c.name) == ("atom", name)):
                        rest = tuple(c for c in rule.body if c is not condition)
                        for start in self._role_bindings(rule):
                            matched = _match(condition.args, row, start)
                            if matched is not None:
                                new += _conclude(rule, rest, matched, result, negations)

    def _role_bindings(self, rule: _Rule) -> Iterator[Binding]:
        """A role argument that nothing binds ranges over the roles."""
        first = rule.args[0] if rule.args else None
        if rule.name in _ROLE_FIRST and isinstance(first, Var):
            bound = {v for c in rule.body if c.kind == "atom" for v in c.variables}
            if first.name not in bound:
                yield from ({first.name: role} for role in self.roles)
                return
        yield {}


_TRUE, _DOES = ("true", 1), ("does", 2)
_ROOTS = (("init", 1), ("legal", 2), ("next", 1), ("sees", 2), ("goal", 2), ("terminal", 0))
_ROLE_FIRST = frozenset({("legal", 2), ("sees", 2), ("goal", 2)})


def text(term: Value) -> str:
    """A ground term as KIF."""
    return term if isinstance(term, str) else f"({' '.join(map(text, term))})"


def value(term: Term) -> Value:
    """A ground term."""
    return _ground(_read_term(term), {})


# -------------------------------------------------------------------- evaluation


def _conclude(
    rule: _Rule, body: _Body, binding: Binding, facts: Facts, negated: Facts
) -> list[tuple[Name, Row]]:
    """Add the conclusions of a rule where `body` holds; returns the new facts."""
    conclusions = [
        tuple(_ground(arg, full) for arg in rule.args)
        for full in _all_of(body, binding, facts, negated, rule.variables)
    ]
    return [(rule.name, row) for row in conclusions if facts.add(rule.name, row)]


def _all_of(
    body: _Body, binding: Binding, facts: Facts, negated: Facts, outside: frozenset[str]
) -> Iterator[Binding]:
    """Bindings under which all conditions hold.

    Tests are made as soon as their variables are bound. A variable of a `not` that occurs
    neither in a condition of another kind nor `outside` is its own: "there is no".
    """
    if not body:
        yield binding
        return
    condition = _choose(body, binding, outside)
    rest = tuple(c for c in body if c is not condition)
    for extended in _solve(condition, binding, facts, negated):
        yield from _all_of(rest, extended, facts, negated, outside)


def _choose(body: _Body, binding: Binding, outside: frozenset[str]) -> _Condition:
    for test in body:
        if test.kind != "atom":
            elsewhere = outside.union(*(c.variables for c in body if c.kind != "not"))
            free = test.variables - binding.keys()
            if not free or (test.kind == "not" and not free & elsewhere):
                return test
    atoms = [c for c in body if c.kind == "atom"]
    if not atoms:
        raise UnboundError(f"nothing binds the variables of {body}")
    return max(atoms, key=lambda c: len(c.variables & binding.keys()) - len(c.variables))


def _solve(
    condition: _Condition, binding: Binding, facts: Facts, negated: Facts
) -> Iterator[Binding]:
    if condition.kind == "atom":
        for row in _candidates(condition, binding, facts):
            matched = _match(condition.args, row, binding)
            if matched is not None:
                yield matched
    elif condition.kind == "distinct":
        left_value, right = (_ground(arg, binding) for arg in condition.args)
        if left_value != right:
            yield binding
    elif not any(
        True
        for body in condition.alternatives
        for _ in _all_of(body, binding, negated, facts, frozenset())
    ):
        yield binding


def _candidates(condition: _Condition, binding: Binding, facts: Facts) -> Sequence[Row]:
    """Rows that may match: narrowed down by the first argument that is known."""
    if condition.variables <= binding.keys():
        row = tuple(_ground(arg, binding) for arg in condition.args)
        return [row] if row in facts.rows(condition.name) else []
    for i, arg in enumerate(condition.args):
        if isinstance(arg, str) or (isinstance(arg, Var) and arg.name in binding):
            return list(facts.rows_with(condition.name, i, _ground(arg, binding)))
    return list(facts.rows(condition.name))


def _match(args: Sequence[Pattern], row: Sequence[Value], binding: Binding) -> Binding | None:
    extended: dict[str, Value] | None = None
    pending = list(zip(args, row, strict=True))
    while pending:
        pattern, ground = pending.pop()
        if isinstance(pattern, Var):
            bound = (extended or binding).get(pattern.name)
            if bound is None:
                extended = dict(binding) if extended is None else extended
                extended[pattern.name] = ground
            elif bound != ground:
                return None
        elif isinstance(pattern, str) or isinstance(ground, str):
            if pattern != ground:
                return None
        elif len(pattern) != len(ground):
            return None
        else:
            pending.extend(zip(pattern, ground, strict=True))
    return binding if extended is None else extended


def _ground(pattern: Pattern, binding: Binding) -> Value:
    if isinstance(pattern, Var):
        if pattern.name not in binding:
            raise UnboundError(f"nothing binds ?{pattern.name}")
        return binding[pattern.name]
    if isinstance(pattern, str):
        return pattern
    return tuple(_ground(part, binding) for part in pattern)


# -------------------------------------------------------------------- reading


def _read_rule(rule: Rule, written: int) -> Iterator[_Rule]:
    head = _read_atom(rule.head)
    for body in _alternatives(rule.body):
        uses = frozenset(use for condition in body for use in _uses(condition, False))
        yield _Rule(written, head.name, head.args, head.variables, body, uses)


def _alternatives(conditions: Sequence[Term]) -> list[_Body]:
    """Conjunctions, one of which must hold, without `and` and `or` but under `not`."""
    bodies: list[_Body] = [()]
    for term in conditions:
        name, args = term.name, term.args if isinstance(term, Compound) else ()
        if name == "and" and args:
            choices = _alternatives(args)
        elif name == "or" and args:
            choices = [body for arg in args for body in _alternatives([arg])]
        elif name == "not" and args:
            inner = tuple(_alternatives(args))
            free = frozenset(v for body in inner for c in body for v in c.variables)
            choices = [(_Condition("not", ("not", 1), (), inner, free),)]
        else:
            choices = [(_read_atom(term),)]
        bodies = [(*body, *choice) for body in bodies for choice in choices]
    return bodies


def _read_atom(term: Term) -> _Condition:
    args = term.args if isinstance(term, Compound) else ()
    name = (term.name, len(args))
    kind = "distinct" if name == ("distinct", 2) else "atom"
    free = frozenset(v for arg in args for v in _variables(arg))
    return _Condition(kind, name, tuple(map(_read_term, args)), (), free)


def _variables(term: Term) -> Iterator[str]:
    if isinstance(term, Variable):
        yield term.name
    elif isinstance(term, Compound):
        for arg in term.args:
            yield from _variables(arg)


def _read_term(term: Term) -> Pattern:
    if isinstance(term, Variable):
        return Var(term.name)
    if isinstance(term, Compound):
        return (term.name, *map(_read_term, term.args))
    return term.name


def _uses(condition: _Condition, negated: bool) -> Iterator[tuple[Name, bool]]:
    if condition.kind == "atom":
        yield condition.name, negated
    for body in condition.alternatives:
        for inner in body:
            yield from _uses(inner, not negated)


def _rules_needed(rules: Sequence[_Rule]) -> list[_Rule]:
    """Without rules for viewers and hints, which may not even terminate."""
    names = set(_ROOTS)
    while True:
        added = {name for r in rules if r.name in names for name, _ in r.uses} - names
        if not added:
            return [rule for rule in rules if rule.name in names]
        names |= added


def _reaching(rules: Iterable[_Rule], targets: set[Name]) -> set[Name]:
    """The relations that depend on one of `targets`."""
    reached = set(targets)
    while True:
        added = {r.name for r in rules if any(name in reached for name, _ in r.uses)} - reached
        if not added:
            return reached
        reached |= added


def _groups(rules: Sequence[_Rule]) -> list[frozenset[Name]]:
    """Relations that depend on each other, in an order in which they can be evaluated."""
    names = {rule.name for rule in rules}
    below: dict[Name, set[Name]] = {name: set() for name in names}
    for rule in rules:
        below[rule.name] |= {name for name, _ in rule.uses if name in names}
    changed = True
    while changed:
        changed = False
        for name, reached in below.items():
            added = set().union(*(below[name_below] for name_below in reached)) - reached
            if added:
                below[name] |= added
                changed = True
    groups = {
        frozenset({name} | {neighbour for neighbour in below[name] if name in below[neighbour]})
        for name in names
    }
    return sorted(groups, key=lambda group: (len(below[next(iter(group))] | group), sorted(group)))
