"""Turns a parsed rulesheet into a `Program`, in the form that every backend compiles.

`normalize` checks the rules, rewrites them step by step, and reports every repair. `validate` does
the same only to list all problems, and looks for likely mistakes as well.
`docs/reference/gdl-ii.md` says how gaps and mistakes of rulesheets are treated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from ggp.errors import GDLError
from ggp.gdl.analysis.dependencies import RuleGraph, relations_needed, static_relations
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
)
from ggp.gdl.repairs import without_flaws
from ggp.gdl.safety import bind_variables
from ggp.gdl.source import Diagnostic, Rulesheet
from ggp.gdl.terms import Compound, Rule, Signature, Symbol, Term, Variable, signature, variables
from ggp.gdl.unfold import Unfolder

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
    rules = [rule for rule in rules if not _is_reserved(rule.head) and not _is_no_role(rule)]
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


def _is_reserved(head: Atom) -> bool:
    return signature(head) in (TRUE, DOES)


def _is_no_role(rule: NormalRule) -> bool:
    """Whether a rule for `role` is not a fact about a name (see `check_roles`)."""
    if signature(rule.head) != ROLE or not isinstance(rule.head, Compound):
        return False
    return bool(rule.body) or not isinstance(rule.head.args[0], Symbol)


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
            body = tuple(dict.fromkeys(x for x in new.body if not _always_distinct(x)))
            if not any(_never_distinct(x) for x in body):
                unfolded.append(NormalRule(new.head, body, new.start))
    return unfolded


def _always_distinct(literal: Literal) -> bool:
    atom = literal.atom
    return (
        literal.is_distinct
        and isinstance(atom, Compound)
        and all(isinstance(arg, Symbol) for arg in atom.args)
        and atom.args[0] != atom.args[1]
    )


def _never_distinct(literal: Literal) -> bool:
    atom = literal.atom
    return literal.is_distinct and isinstance(atom, Compound) and atom.args[0] == atom.args[1]


def _defined(rules: Sequence[NormalRule]) -> set[Signature]:
    return {signature(rule.head) for rule in rules} | _GIVEN


def _report_undefined(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    defined = _defined(rules)
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
                    f"relation `{name}` with {arity} arguments is not defined: it is false{advice}",
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
    defined = _defined(rules)
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
