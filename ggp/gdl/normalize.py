"""Turns a parsed rulesheet into a `Program`, in the form that every backend compiles.

`normalize` checks the rules, rewrites them step by step, and reports every repair. `validate` does
the same only to list all problems, and looks for likely mistakes as well.
An `Unfolder` writes disjunctions as rules, and repairs come before all else.
`docs/reference/gdl-ii.md` says how gaps and mistakes of rulesheets are treated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product

from ggp.errors import GDLError
from ggp.gdl.analysis.dependencies import (
    RuleGraph,
    relations_needed,
    relations_reaching,
    static_relations,
)
from ggp.gdl.analysis.growth import endless_rule
from ggp.gdl.formal import (
    IGNORED,
    Diagnosis,
    check_dependencies,
    check_endless,
    check_goal_values,
    check_playable,
    check_recursion,
    check_roles,
    check_vocabulary,
    endless_message,
    forbidden_message,
    forbidden_uses,
)
from ggp.gdl.games import read_rulesheet
from ggp.gdl.mistakes import OPERATORS, check_control, check_notation, check_possible
from ggp.gdl.nearest import did_you_mean
from ggp.gdl.program import (
    DISTINCT,
    DOES,
    GOAL,
    INIT,
    KEYWORD_ARITY,
    LEGAL,
    NEXT,
    RANDOM,
    ROLE,
    SEES,
    TERMINAL,
    TRUE,
    Atom,
    Literal,
    NormalRule,
    Program,
    atom_of,
    resolve,
    unify,
)
from ggp.gdl.safety import bind_variables
from ggp.gdl.source import Diagnostic, Rulesheet
from ggp.gdl.terms import (
    CONNECTIVES,
    Compound,
    Rule,
    Signature,
    Symbol,
    Term,
    Variable,
    signature,
    substitute,
    variables,
)

_GIVEN = frozenset({TRUE, DOES, DISTINCT})
"""Relations that need no rules."""

_FLUENT = "fluent: (true {})"

_ROOTS = (ROLE, INIT, LEGAL, NEXT, SEES, GOAL, TERMINAL)


def normalize(rulesheet: Rulesheet, *, strict: bool = False, lenient: bool = False) -> Program:
    """The rules of a rulesheet in the form that every backend compiles.

    Args:
        rulesheet: a value that `parse` returned.
        strict: make every breach of the formal rules an error, even if it could be repaired.
        lenient: drop or repair single rules that would make the game unplayable, with a warning.

    Raises:
        GDLValidationError: the rulesheet cannot be played (or, when strict, breaks a formal
            rule); the error lists all problems.
    """
    report = Diagnosis(rulesheet, strict=strict, lenient=lenient)
    program = _normalize(rulesheet, report)
    report.raise_errors()
    return program


def load(name_or_path: str, *, strict: bool = False) -> Program:
    """The program of a game, by name or path (see `find_game`, `parse`, `normalize`).

    >>> load("monty_hall").roles
    ('candidate', 'random')
    """
    return normalize(read_rulesheet(name_or_path), strict=strict)


def validate(
    rulesheet: Rulesheet, *, strict: bool = False, engines: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """All problems of a rulesheet, in text order; empty if there are none.

    Args:
        rulesheet: a value that `parse` returned.
        strict: require the letter of the specification.
        engines: also warn of what these read differently, see `elsewhere.ENGINES`.
    """
    from ggp.gdl.elsewhere import breaches, differences

    report = Diagnosis(rulesheet, strict=strict)
    for rule, offset, message in breaches(rulesheet) if strict else ():
        report.breach(rule, message, offset)
    try:
        _normalize(rulesheet, report, advises=True)
        problems = report.diagnostics()
    except GDLError as error:
        problems = error.diagnostics
    found = (*problems, *differences(rulesheet, problems, engines))
    return tuple(sorted(found, key=lambda problem: (problem.line, problem.column)))


def _normalize(rulesheet: Rulesheet, report: Diagnosis, *, advises: bool = False) -> Program:
    """The program; errors go to the report and are not raised.

    Args:
        advises: also report likely mistakes that no formal rule forbids (see `mistakes`).
    """
    check_vocabulary(rulesheet.rules, report)
    roles = check_roles(rulesheet.rules, report)
    rules = _unfold(_without_duplicates(rulesheet.rules, report))
    rules = [rule for rule in rules if _may_be_given(rule)]
    if advises:
        check_notation(rulesheet, report)
        check_control(rulesheet.rules, roles, report)
        check_possible(rulesheet.rules, rules, roles, report)
    _report_undefined(rules, report)
    if advises:
        _check_unused(rules, report)
    rules = _keep(rules, relations_needed(rules, _ROOTS))
    rules = _without_undefined(rules)
    rules = bind_variables(rules, report)
    if report.lenient:
        rules = without_flaws(rules, report)
    # Binding may drop rules, and with them the last definition of a relation.
    rules = _without_undefined(rules)
    rules = _keep(rules, relations_needed(rules, _ROOTS))
    rules = list(dict.fromkeys(rules))
    check_playable(rulesheet.rules, rules, roles, report)
    check_goal_values(rules, report)
    check_dependencies(rules, report)
    check_recursion(rules, report)
    check_endless(rules, report)
    is_gdl2 = RANDOM in roles or any(signature(rule.head) == SEES for rule in rulesheet.rules)
    return Program(
        roles=roles,
        rules=tuple(rules),
        is_gdl2=is_gdl2,
        static=static_relations(rules),
        recursive=RuleGraph(rules).recursive_relations(),
        spelling=rulesheet.spelling,
        source=rulesheet.source,
        diagnostics=report.diagnostics(),
    )


def _check_unused(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Report problems of rules that nothing uses yet.

    Play does not depend on them, so they are errors only when strict. Hints to players (`IGNORED`)
    often break the formal rules, and are not checked.
    """
    rules = _without_undefined(rules)
    reachable = relations_needed(rules, (*_ROOTS, *IGNORED))
    unused = [rule for rule in rules if signature(rule.head) not in reachable]
    if not unused:
        return
    with report.of_unused_rules():
        unused = bind_variables(unused, report, _keep(rules, reachable))
        check_dependencies(unused, report)
        check_recursion(unused, report)
        check_endless(unused, report)


def _may_be_given(rule: NormalRule) -> bool:
    """Whether a rulesheet may have a rule: `role` takes only facts about names (`check_roles`)."""
    relation = signature(rule.head)
    if relation == ROLE and isinstance(rule.head, Compound):
        return not rule.body and isinstance(rule.head.args[0], Symbol)
    return relation not in (TRUE, DOES)


def _keep(rules: Sequence[NormalRule], relations: frozenset[Signature]) -> list[NormalRule]:
    return [rule for rule in rules if signature(rule.head) in relations]


def _without_duplicates(rules: Sequence[Rule], report: Diagnosis) -> list[Rule]:
    """The rules without duplicates; names of variables make no difference."""
    seen: dict[Rule, Rule] = {}
    for rule in rules:
        first = seen.setdefault(_canonical(rule), rule)
        if first is not rule:
            line = report.line_of(first.start)
            kind = "rule" if rule.body else "fact"
            report.warn("duplicate", f"{kind} already given in line {line}: dropped", rule.start)
    return list(seen.values())


def _canonical(rule: Rule) -> Rule:
    """The rule with variables numbered in order of appearance."""
    if not rule.body and not any(variables(rule.head)):
        return rule
    names: dict[str, Variable] = {}

    def rename(term: Term) -> Term:
        if isinstance(term, Variable):
            return names.setdefault(term.name, Variable(str(len(names))))
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(rename, term.args)))
        return term

    return Rule(rename(rule.head), tuple(map(rename, rule.body)))


def _unfold(rules: Sequence[Rule]) -> list[NormalRule]:
    unfolder = Unfolder()
    unfolded: list[NormalRule] = []
    for rule in rules:
        for new in unfolder.unfold(rule):
            body = tuple(dict.fromkeys(x for x in new.body if _are_distinct(x) is not True))
            if not any(_are_distinct(x) is False for x in body):
                unfolded.append(NormalRule(new.head, body, new.start))
    return unfolded


def _are_distinct(literal: Literal) -> bool | None:
    """Whether the terms of a condition `distinct` always differ, or never; None if not known."""
    if not literal.is_distinct or not isinstance(literal.atom, Compound):
        return None
    left, right = literal.atom.args
    if left == right:
        return False
    return True if isinstance(left, Symbol) and isinstance(right, Symbol) else None


def _report_undefined(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    defined = {signature(rule.head) for rule in rules} | _GIVEN
    names = {name for name, _ in defined if ";" not in name}
    uses = _uses(rules)
    for rule in (rule for rule in rules if signature(rule.head) not in IGNORED):
        for literal in rule.body:
            name, arity = signature(literal.atom)
            if (name, arity) not in defined and not (
                name in KEYWORD_ARITY and arity != KEYWORD_ARITY[name]
            ):
                warn = report.breach_once if name in OPERATORS else report.warn_once
                advice = did_you_mean(name, names) or OPERATORS.get(name, "")
                if (name, arity) in uses:
                    advice = f"; ask for a {uses[name, arity]}"
                warn(
                    "undefined",
                    f"relation `{name}` with {arity} argument{'' if arity == 1 else 's'} is not "
                    f"defined: it is false{advice}",
                    literal.atom.start if literal.atom.start >= 0 else rule.start,
                )


def _uses(rules: Sequence[NormalRule]) -> dict[Signature, str]:
    """For each function of a move or fluent, the condition to write for it, for messages."""
    uses: dict[Signature, str] = {}
    for relation, use in ((LEGAL, "move: (does role {})"), (INIT, _FLUENT), (NEXT, _FLUENT)):
        for rule in rules:
            if signature(rule.head) == relation and isinstance(rule.head, Compound):
                term = rule.head.args[-1]
                if not isinstance(term, Variable):
                    shape = f"({term.name} ...)" if isinstance(term, Compound) else term.name
                    uses[signature(term)] = use.format(shape)
    return uses


def _without_undefined(rules: Sequence[NormalRule]) -> list[NormalRule]:
    """The rules with undefined relations taken to be false.

    Their negations hold, so these conditions go. A rule with a positive condition on one can never
    apply, so it goes; if it was the last rule of its relation, that becomes undefined as well.
    """
    num_rules = Counter(signature(rule.head) for rule in rules)
    defined = {*num_rules, *_GIVEN}
    users: dict[Signature, list[int]] = {}
    for index, rule in enumerate(rules):
        for sig in {signature(x.atom) for x in rule.body if not x.negated}:
            users.setdefault(sig, []).append(index)
    pending = [sig for sig in users if sig not in defined]
    dropped: set[int] = set()
    while pending:
        for index in users.get(pending.pop(), ()):
            head = signature(rules[index].head)
            if index not in dropped:
                dropped.add(index)
                num_rules[head] -= 1
                if not num_rules[head] and head not in _GIVEN:
                    defined.discard(head)
                    pending.append(head)
    return [
        NormalRule(
            rule.head, tuple(x for x in rule.body if signature(x.atom) in defined), rule.start
        )
        for index, rule in enumerate(rules)
        if index not in dropped
    ]


# ------------------------------------------------------------------------
# Unfolds `or`, `and` and nested negation into rules of plain literals.
#
# In come rules with connectives, as the parser read them; out go `NormalRule`s. A disjunction
# becomes several rules (disjunctive normal form). A negated conjunction, or a disjunction with too
# many alternatives, becomes a relation of its own.

MAX_ALTERNATIVES = 256
"""A rule that unfolds into more rules than this keeps its disjunctions as relations."""

_EQUAL = "equal;"
Conjunction = tuple[Literal, ...]


class Unfolder:
    """Turns parsed rules into rules of literals.

    New relations stand for what literals cannot express: a negated conjunction, or a disjunction
    too large to multiply out. Their names contain a `;`, which no rulesheet can spell.
    """

    def __init__(self) -> None:
        self._new_rules: list[NormalRule] = []
        self._count = 0

    def unfold(self, rule: Rule) -> list[NormalRule]:
        """Rules that together mean the same as `rule`; empty if no alternative can hold."""
        if not isinstance(rule.head, Symbol | Compound):
            raise ValueError(f"not a relation: {rule.head}")
        self._new_rules = []
        rules = self._expand(rule.head, rule.body, rule.start)
        return [*rules, *self._new_rules]

    def _expand(self, head: Atom, body: Sequence[Term], start: int) -> list[NormalRule]:
        branches = []
        size = 1
        # A variable that occurs only under negations is local to each of them.
        shared = _outside_of_negations(head, body)
        of_head = {v.name for v in variables(head)}
        names = [{v.name for v in variables(condition)} for condition in body]
        times = Counter(name for members in names for name in members)
        for condition, own_names in zip(body, names, strict=True):
            outside: set[str] = set()
            if signature(condition)[0] in CONNECTIVES:
                outside = {n for n in shared if n in of_head or times[n] > (n in own_names)}
            alternatives = self._alternatives(condition, True, outside, start)
            if size * len(alternatives) > MAX_ALTERNATIVES:
                alternatives = [(self._relation_of(alternatives, outside, start),)]
            size *= len(alternatives)
            branches.append(alternatives)
        rules = []
        for choice in product(*branches):
            merged = _apply_equalities(head, [x for part in choice for x in part])
            if merged is not None:
                rules.append(NormalRule(merged[0], merged[1], start))
        return rules

    def _alternatives(
        self, condition: Term, positive: bool, outside: set[str], start: int
    ) -> list[Conjunction]:
        """A disjunction of conjunctions equivalent to `condition`, or to its negation.

        Args:
            positive: false for the negation.
            outside: the variables that occur elsewhere in the rule.
        """
        name, arity = signature(condition)
        args = condition.args if isinstance(condition, Compound) else ()
        if name == "not" and arity == 1:
            return self._alternatives(args[0], not positive, outside, start)
        if name == "or" and positive:
            return [
                alternative
                for i, arg in enumerate(args)
                for alternative in self._alternatives(arg, True, _with(outside, args, i), start)
            ]
        if (name == "and" and positive) or name == "or":
            parts = []
            for i, arg in enumerate(args):
                if positive:
                    parts.append(self._alternatives(arg, True, _with(outside, args, i), start))
                else:
                    renamed = _rename_local(arg, outside, i)
                    parts.append(self._alternatives(renamed, False, outside, start))
            return [tuple(x for part in choice for x in part) for choice in product(*parts)]
        if name == "and":
            relation = self._relation_of(
                self._alternatives(condition, True, outside, start), outside, start
            )
            return [(Literal(relation.atom, negated=True),)]
        if isinstance(condition, Variable):
            raise ValueError(f"not a condition: {condition}")
        if name == "distinct" and arity == 2 and not positive:
            return [(Literal(Compound(_EQUAL, args, condition.start)),)]
        return [(Literal(condition, negated=not positive),)]

    def _relation_of(
        self, alternatives: Sequence[Conjunction], outside: set[str], start: int
    ) -> Literal:
        """A new relation that holds if one of the alternatives does."""
        names = dict.fromkeys(
            v.name for part in alternatives for x in part for v in variables(x.atom)
        )
        args = tuple(Variable(name) for name in names if name in outside)
        self._count += 1
        name = f"one;{start};{self._count}"
        head: Atom = Compound(name, args) if args else Symbol(name)
        for part in alternatives:
            merged = _apply_equalities(head, part)
            if merged is not None:
                self._new_rules.append(NormalRule(merged[0], merged[1], start))
        return Literal(head)


def _outside_of_negations(head: Atom, body: Sequence[Term]) -> set[str]:
    """Variables of a head, of conditions under no negation or two, and of every `distinct`."""
    names = {v.name for v in variables(head)}
    pending = [(condition, True) for condition in body]
    while pending:
        condition, positive = pending.pop()
        name, arity = signature(condition)
        args = condition.args if isinstance(condition, Compound) else ()
        if name == "not" and arity == 1:
            pending.append((args[0], not positive))
        elif name in ("and", "or"):
            pending.extend((arg, positive) for arg in args)
        elif positive or name == "distinct":
            names.update(v.name for v in variables(condition))
    return names


def _with(outside: set[str], args: Sequence[Term], skip: int) -> set[str]:
    return outside.union(
        *({v.name for v in variables(arg)} for i, arg in enumerate(args) if i != skip)
    )


def _rename_local(term: Term, outside: set[str], number: int) -> Term:
    """Rename local variables: under a negation, each part of an `or` quantifies its own."""
    local = {v.name for v in variables(term)} - outside
    return substitute(term, {name: Variable(f"{name};{number}") for name in local})


def _apply_equalities(
    head: Atom, body: Sequence[Literal]
) -> tuple[Atom, tuple[Literal, ...]] | None:
    """The rule with both sides of every equality unified; None if an equality cannot hold."""
    equal = [x for x in body if signature(x.atom) == (_EQUAL, 2)]
    if not equal:
        return head, tuple(body)
    left = Compound("=", tuple(_argument(x, 0) for x in equal))
    right = Compound("=", tuple(_argument(x, 1) for x in equal))
    binding = unify(left, right)
    if binding is None:
        return None
    rest = [x for x in body if x not in equal]
    new_head = atom_of(resolve(head, binding))
    return new_head, tuple(Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in rest)


def _argument(literal: Literal, index: int) -> Term:
    atom = literal.atom
    return atom.args[index] if isinstance(atom, Compound) else atom


# ------------------------------------------------------------------------
# Repairs rules that would make a rulesheet unplayable; for matches in which it must be played.
#
# `normalize` calls this if it is lenient. A game server treats a missing move like an illegal one,
# so a player does better with most of the rules than without a machine. The repairs follow the
# reasoners of game servers: there are no moves while these look for legal moves, goals or the end,
# and no state while they look for the initial one.

_OF_A_STATE = (LEGAL, GOAL, TERMINAL)


def without_flaws(rules: Sequence[NormalRule], report: Diagnosis) -> list[NormalRule]:
    """The rules without cycles through negation, and without forbidden dependencies."""
    rest = _without_cycles(rules, report)
    while (endless := endless_rule(rest)) is not None:
        report.flaw("endless", endless_message(endless), "rule dropped", endless.start)
        rest.remove(endless)
    uses = list(forbidden_uses(RuleGraph(rest)))
    for relation, target, rule in uses:
        without = "before there was a state" if relation == INIT else "as if nobody had moved"
        message = forbidden_message(relation, target, rest[rule])
        report.flaw("dependency", message, f"evaluated {without}", rest[rule].start)
    flawed = {relation for relation, _, _ in uses}
    if flawed & set(_OF_A_STATE):
        rest = _evaluated_without(rest, _OF_A_STATE, (DOES,), (SEES, NEXT), ";still")
    if INIT in flawed:
        rest = _evaluated_without(rest, (INIT,), (TRUE, DOES), (*_OF_A_STATE, SEES, NEXT), ";first")
    return rest


def _without_cycles(rules: Sequence[NormalRule], report: Diagnosis) -> list[NormalRule]:
    """The rules, with those dropped that negate a relation which depends on their own head."""
    rest = list(rules)
    while cycles := RuleGraph(rest).negative_cycles():
        for rule, literal in cycles:
            report.flaw(
                "stratification",
                f"{rest[rule].head} depends on its own negation through {rest[rule].body[literal]}",
                "rule dropped",
                rest[rule].start,
            )
        dropped = {rule for rule, _ in cycles}
        rest = [rule for i, rule in enumerate(rest) if i not in dropped]
    return rest


def _evaluated_without(
    rules: Sequence[NormalRule],
    roots: Sequence[Signature],
    false: Sequence[Signature],
    through: Sequence[Signature],
    mark: str,
) -> list[NormalRule]:
    """The rules with some relations evaluated as if others were false.

    The rules of `roots` use copies of all relations that depend on `false` or `through`. In the
    copies, a relation of `false` never holds. The originals stay as they are for everything else.

    Args:
        roots: relations whose rules are changed.
        false: relations that never hold in the evaluation of `roots`.
        through: further relations that are copied.
        mark: ending of the names of copies.
    """
    affected = relations_reaching(rules, (*false, *through)) - {*roots, *false}

    def changed(rule: NormalRule, head: Atom) -> NormalRule | None:
        body = []
        for literal in rule.body:
            relation = signature(literal.atom)
            if relation in false:
                if not literal.negated:
                    return None
            elif relation in affected:
                body.append(Literal(_marked(literal.atom, mark), literal.negated))
            else:
                body.append(literal)
        return NormalRule(head, tuple(body), rule.start)

    rewritten: list[NormalRule | None] = []
    for rule in rules:
        relation = signature(rule.head)
        rewritten.append(changed(rule, rule.head) if relation in roots else rule)
        if relation in affected:
            rewritten.append(changed(rule, _marked(rule.head, mark)))
    return [rule for rule in rewritten if rule is not None]


def _marked(atom: Atom, mark: str) -> Atom:
    return replace(atom, name=atom.name + mark)
