"""Checks of the formal rules of GDL-II, and of rules that a game needs to be playable.

`normalize` runs these checks on the rules of a rulesheet, before and after it rewrites them. Each
check reports problems to a `Diagnosis`; none repairs.

Sources: Love et al. 2006 (GDL specification, sections on well-formed games), Thielscher 2010
(GDL-II).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ggp.errors import GDLValidationError
from ggp.gdl.analysis.dependencies import RuleGraph, relation_components
from ggp.gdl.analysis.domains import Domains, occurrences, position
from ggp.gdl.analysis.growth import endless_rule
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    KEYWORD_ARITY,
    LEGAL,
    MAX_GOAL,
    MIN_GOAL,
    NEXT,
    RANDOM,
    ROLE,
    SEES,
    TERMINAL,
    TRUE,
    Literal,
    NormalRule,
    Program,
    number_of,
    unify,
)
from ggp.gdl.source import Diagnostic, Rulesheet, Severity, diagnose, errors, joined
from ggp.gdl.syntax.reading import TUPLE
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

IGNORED = frozenset({("base", 1), ("input", 2), ("sees_xml", 2), ("sees_xml", 3), ("percept", 2)})
"""Relations for viewers and for players that trust hints; they have no meaning in play."""

_ADVICE = {
    "true": "(next ...) says what holds after the moves, (init ...) what holds at first",
    "does": "(legal role move) says what a role may do",
}
"""Advice for a keyword that is used as a head but cannot be one."""

_HEAD_ONLY = (INIT, NEXT, SEES)


def conditions(rule: Rule) -> Iterator[Term]:
    """The relations in the body of an unnormalised rule, inside and outside of connectives."""
    pending = list(reversed(rule.body))
    while pending:
        term = pending.pop()
        if isinstance(term, Compound) and term.name in CONNECTIVES - {"distinct"}:
            pending.extend(reversed(term.args))
        else:
            yield term


def without_connectives(rules: Sequence[Rule]) -> list[NormalRule]:
    """Each rule with all its `conditions` in one body: what depends on what, not what it means."""
    atoms = [[a for a in conditions(rule) if not isinstance(a, Variable)] for rule in rules]
    return [
        NormalRule(rule.head, tuple(map(Literal, body)))
        for rule, body in zip(rules, atoms, strict=True)
        if not isinstance(rule.head, Variable)
    ]


def check_vocabulary(rules: Sequence[Rule], report: Diagnosis) -> None:
    """Report names with several arities, and keywords with a wrong arity or in a wrong place."""
    relations: dict[str, dict[int, int]] = {}
    functions: dict[str, dict[int, int]] = {}
    for rule in rules:
        if signature(rule.head) in IGNORED:
            continue
        for atom in (rule.head, *conditions(rule)):
            if isinstance(atom, Variable):
                continue
            name, arity = signature(atom)
            relations.setdefault(name, {}).setdefault(arity, atom.start)
            if name in KEYWORD_ARITY and arity != KEYWORD_ARITY[name]:
                report.breach(
                    "keyword-arity",
                    f"`{name}` takes {KEYWORD_ARITY[name]} arguments, not {arity}: "
                    "taken for another relation",
                    atom.start,
                )
            for arg in atom.args if isinstance(atom, Compound) else ():
                _note_functions(arg, functions)
        if signature(rule.head) in (TRUE, DOES):
            name = rule.head.name
            message = f"`{name}` cannot be defined by a rule: rule dropped; {_ADVICE[name]}"
            report.breach("keyword-head", message, rule.start)
        for atom in conditions(rule):
            if not isinstance(atom, Variable) and signature(atom) in _HEAD_ONLY:
                report.breach(
                    "keyword-body",
                    f"`{atom.name}` belongs in heads only; here it is evaluated for the same "
                    "state and joint move",
                    atom.start,
                )
    for kind, names in (("relation", relations), ("function", functions)):
        for name, arities in names.items():
            if len(arities) > 1 and name not in {*KEYWORD_ARITY, TUPLE}:
                listed = ", ".join(map(str, sorted(arities)))
                report.breach(
                    "arity",
                    f"{kind} `{name}` is used with {listed} arguments: these are different things",
                    max(arities.values()),
                )


def _note_functions(term: Term, functions: dict[str, dict[int, int]]) -> None:
    if isinstance(term, Compound):
        functions.setdefault(term.name, {}).setdefault(len(term.args), term.start)
        for arg in term.args:
            _note_functions(arg, functions)


def check_roles(rules: Sequence[Rule], report: Diagnosis) -> tuple[str, ...]:
    """The roles in order of appearance; reports roles that are not given by facts."""
    roles: dict[str, None] = {}
    for rule in rules:
        if signature(rule.head) != ROLE or not isinstance(rule.head, Compound):
            continue
        name = rule.head.args[0]
        if rule.body:
            message = "`role` must be given by facts, not rules"
            report.flaw("role-facts", message, "rule dropped", rule.start)
        elif isinstance(name, Symbol):
            roles[name.name] = None
        else:
            message = f"a role must be a name, not {name}"
            report.flaw("role-facts", message, "fact dropped", rule.start)
    if not roles:
        report.error("no-role", "there is no role: add facts like (role white)", -1)
    return tuple(roles)


def check_playable(
    read: Sequence[Rule], rules: Sequence[NormalRule], roles: Sequence[str], report: Diagnosis
) -> None:
    """Report errors that make play impossible, and warn of flaws that only show during play.

    Args:
        read: the rules before normalisation, which drops rules that can never apply.
    """
    places = {rule.head: rule.start for rule in reversed(read)}
    written = {signature(rule.head): rule.start for rule in reversed(read)}
    defined = {signature(rule.head) for rule in rules}
    if LEGAL not in written:
        report.error("no-legal", "there is no rule for `legal`: nobody could move", -1)
    elif LEGAL not in defined:
        message = "no rule for `legal` can ever apply: nobody could move"
        report.error("no-legal", message, written[LEGAL])
    if TERMINAL not in written:
        message = "there is no rule for `terminal`: the game could not end"
        report.flaw("no-terminal", message, "it does not", -1)
    elif TERMINAL not in defined:
        message = "no rule for `terminal` can ever apply: no game ends"
        report.warn("no-terminal", message, written[TERMINAL])
    goals = [rule.head for rule in rules if signature(rule.head) == GOAL]
    scored = {head.args[0] for head in goals if isinstance(head, Compound)}
    for role in roles:
        if role != "random" and not any(isinstance(s, Variable) or str(s) == role for s in scored):
            place = places[Compound("role", (Symbol(role),))]
            report.warn("no-goal", f"role {role} has no goal: it counts as 0", place)


def check_dependencies(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Check stratification, and the dependencies that GDL-II allows each keyword."""
    graph = RuleGraph(rules)
    for rule, literal in graph.negative_cycles():
        report.error(
            "stratification",
            f"{rules[rule].head} depends on its own negation through "
            f"{rules[rule].body[literal]}; break the cycle",
            rules[rule].start,
        )
    for relation, target, rule in forbidden_uses(graph):
        report.error(
            "dependency", forbidden_message(relation, target, rules[rule]), rules[rule].start
        )


def forbidden_message(relation: Signature, target: Signature, rule: NormalRule) -> str:
    """The message about a forbidden dependency of a relation on `target` through a rule."""
    return f"`{relation[0]}` must not depend on `{target[0]}`, but does through {rule.head}"


def forbidden_uses(graph: RuleGraph) -> Iterator[tuple[Signature, Signature, int]]:
    """Yield forbidden dependencies: relation, target, index of a rule that causes it.

    A dependency of `init` on `next`, `legal`, `goal` or `terminal` is harmless if these depend
    neither on the state nor on moves.
    """
    forbidden: dict[Signature, tuple[Signature, ...]] = {
        INIT: (TRUE, DOES, NEXT, LEGAL, SEES, GOAL, TERMINAL),
        LEGAL: (DOES, SEES, NEXT),
        GOAL: (DOES, SEES, NEXT),
        TERMINAL: (DOES, SEES, NEXT),
    }
    for relation, targets in forbidden.items():
        for target in targets:
            rule = graph.first_use(graph.heads(relation), frozenset({target}))
            if rule is not None and target in (NEXT, LEGAL, GOAL, TERMINAL):
                state = frozenset({TRUE, DOES})
                if graph.first_use(graph.heads(target), state) is None:
                    continue
            if rule is not None:
                yield relation, target, rule


def check_endless(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Report a rule that makes a relation hold for infinitely many terms in every state."""
    rule = endless_rule(rules)
    if rule is not None:
        report.flaw("endless", endless_message(rule), "rule dropped", rule.start)


def endless_message(rule: NormalRule) -> str:
    """The message about a rule that makes a relation hold for infinitely many terms."""
    return (
        f"`{rule.head.name}` holds of infinitely many terms, each made of the one before by "
        f"{rule.head}; give the rule a condition that ends it"
    )


def check_recursion(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Report arguments that break the recursion restriction.

    Every argument of a recursive condition must be ground, an argument of the head, or bound
    by a condition that does not take part in the recursion (Love et al., definition 15).
    """
    component_of: dict[Signature, int] = {}
    for number, component in enumerate(relation_components(rules)):
        for sig in component:
            component_of[sig] = number
    for rule in rules:
        head_component = component_of.get(signature(rule.head))
        head_args = rule.head.args if isinstance(rule.head, Compound) else ()
        outside = {
            v.name
            for x in rule.body
            if x.binds and component_of.get(signature(x.atom)) != head_component
            for v in variables(x.atom)
        }
        for literal in rule.body:
            if component_of.get(signature(literal.atom)) != head_component or not isinstance(
                literal.atom, Compound
            ):
                continue
            for arg in literal.atom.args:
                names = {v.name for v in variables(arg)}
                if names and arg not in head_args and not names <= outside:
                    report.breach(
                        "recursion",
                        f"argument {arg} of the recursive condition {literal.atom} is neither "
                        "bound outside the recursion nor an argument of the head: "
                        "evaluated with tables and limits",
                        rule.start,
                    )


# ------------------------------------------------------------------------
# The diagnostics of one rulesheet, collected while it is checked and normalised.

FORMAL_READER_RULES = frozenset(
    {
        "unbalanced",
        "empty-arguments",
        "empty-body",
        "empty-list",
        "stray-condition",
        "encoding",
        "tuple",
    }
)
"""Names of repairs by the parser that hide a breach of the specification."""


class Diagnosis:
    """Collects the diagnostics of a rulesheet, without duplicates.

    `strict` turns repaired breaches of the formal rules into errors; `lenient` turns flaws of
    single rules into warnings.
    """

    def __init__(self, rulesheet: Rulesheet, *, strict: bool, lenient: bool = False) -> None:
        self._source = rulesheet.source
        self._strict, self.lenient = strict, lenient
        self._is_used = True
        self._once: set[tuple[str, str]] = set()
        self._diagnostics: dict[tuple[str, str, int], Diagnostic] = {}
        for diagnostic in rulesheet.diagnostics:
            severity = diagnostic.severity
            if strict and diagnostic.rule in FORMAL_READER_RULES:
                severity = "error"
            key = (diagnostic.rule, diagnostic.message, len(self._diagnostics))
            self._diagnostics[key] = replace(diagnostic, severity=severity)

    @contextmanager
    def of_unused_rules(self) -> Iterator[None]:
        """Within this context, report errors as breaches: play does not depend on the rules."""
        self._is_used = False
        try:
            yield
        finally:
            self._is_used = True

    def error(self, rule: str, message: str, offset: int) -> None:
        """Report a problem that makes the rulesheet unplayable."""
        self._add("error" if self._is_used or self._strict else "warning", rule, message, offset)

    def flaw(self, rule: str, message: str, remedy: str, offset: int) -> None:
        """Report a flaw that makes the game unplayable; if lenient, warn and name the repair."""
        if self.lenient:
            self._add("warning", rule, f"{message}: {remedy}", offset)
        else:
            self.error(rule, message, offset)

    def breach(self, rule: str, message: str, offset: int) -> None:
        """Report a repaired breach of the formal rules: an error only when strict."""
        self._add("error" if self._strict else "warning", rule, message, offset)

    def warn(self, rule: str, message: str, offset: int) -> None:
        """Warn of something that the formal rules allow but the author may not intend."""
        self._add("warning", rule, message, offset)

    def warn_once(self, rule: str, message: str, offset: int) -> None:
        """Like `warn`, but only for the first occurrence of a message."""
        if (rule, message) not in self._once:
            self._once.add((rule, message))
            self.warn(rule, message, offset)

    def breach_once(self, rule: str, message: str, offset: int) -> None:
        """Like `breach`, but only for the first occurrence of a message."""
        if (rule, message) not in self._once:
            self._once.add((rule, message))
            self.breach(rule, message, offset)

    def line_of(self, offset: int) -> int:
        """The 1-based line of a character offset."""
        return self._source.position(offset)[0]

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, in text order."""
        return tuple(sorted(self._diagnostics.values(), key=lambda d: (d.line, d.column)))

    def raise_errors(self) -> None:
        """Raise `GDLValidationError` about all errors, if there are any."""
        problems = errors(self.diagnostics())
        if problems:
            raise GDLValidationError(joined(problems), self.diagnostics())

    def _add(self, severity: Severity, rule: str, message: str, offset: int) -> None:
        key = (rule, message, offset)
        if key not in self._diagnostics:
            self._diagnostics[key] = diagnose(self._source, severity, rule, message, offset)


# ------------------------------------------------------------------------
# Goal values that are certainly wrong, found from the rules alone.
#
# A goal value is a whole number from 0 to 100 (Love et al. 2006). A rule is reported only if it
# gives a wrong value whenever it applies. A variable might take a wrong value only in states that
# are never reached, so it is reported only if one of its conditions gives it wrong values alone.

MAX_VALUES = 1_000
"""Variables with more values than this are not checked."""

_WHOLE = re.compile(r"[0-9]+")

_BOUNDS = f"{MIN_GOAL:g} to {MAX_GOAL:g}"


def check_goal_values(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Report rules for `goal` whose value is not a whole number from 0 to 100."""
    domains: Domains | None = None
    for rule in rules:
        if signature(rule.head) != GOAL or not isinstance(rule.head, Compound):
            continue
        value = rule.head.args[1]
        place = value.start if value.start >= 0 else rule.start
        if not isinstance(value, Variable):
            wrong = goal_value_error(value)
            if wrong:
                report.breach("goal-value", f"the goal value {value} {wrong}", place)
            continue
        domains = domains or Domains(rules)
        for values in _possible(value, rule, domains):
            if all(map(goal_value_error, values)):
                listed = ", ".join(map(str, values[:4])) + (", ..." if len(values) > 4 else "")
                text = f"no value of {value} ({listed}) is a goal value: these are {_BOUNDS}"
                report.breach("goal-value", text, place)
                break


def goal_value_error(value: Term) -> str:
    """The reason why a ground term is not a goal value; empty if it is one."""
    number = number_of(value.name) if isinstance(value, Symbol) else None
    if number is None:
        return f"is not a number: goal values go from {_BOUNDS}; in play it is an error"
    if not MIN_GOAL <= number <= MAX_GOAL:
        return f"is not from {_BOUNDS}: in play it is kept"
    if not _WHOLE.fullmatch(str(value)):
        return f"is not written as a whole number from {_BOUNDS}: in play it is kept"
    return ""


def _possible(variable: Variable, rule: NormalRule, domains: Domains) -> Iterator[list[Term]]:
    """Yield the values that each condition can give to a variable, if they are known."""
    for literal in rule.body:
        if not literal.binds:
            continue
        for name, at in occurrences(literal.atom):
            values = domains.values(at, MAX_VALUES) if name == variable.name else None
            if values:
                yield values


# ------------------------------------------------------------------------
# The least and the greatest goal value that the rules of a game can give.
#
# Goal values should go from 0 to 100, but some rulesheets give others, which are kept. A rule gives
# either a constant in its head, or a variable, whose values flow there from constants (`Domains`).
# So no state has to be visited.

MAX_FLOWS = 100_000
"""Flows of values between positions before bounds are given up, after some seconds."""


def goal_bounds(program: Program) -> tuple[float, float] | None:
    """The least and the greatest goal value of any role except `random`; None if unknown.

    The bounds include 0 and 100, the usual range, even if the rules use less of it or there are no
    rules. Values that are not numbers are ignored, since a match that ends with one has no score.
    """
    texts: list[str] = []
    has_variables = False
    for rule in program.by_head.get(GOAL, ()):
        if not isinstance(rule.head, Compound) or rule.head.args[0] == Symbol(RANDOM):
            continue
        value = rule.head.args[1]
        has_variables |= isinstance(value, Variable)
        if isinstance(value, Symbol):
            texts.append(value.name)
    if has_variables:
        domains, at = Domains(program.rules, MAX_FLOWS), position(GOAL, 1)
        if not domains.whole or domains.is_open(at):
            return None
        texts += domains.constants(at)
    numbers = [number for text in texts if (number := number_of(text)) is not None]
    return min([MIN_GOAL, *numbers]), max([MAX_GOAL, *numbers])


# ------------------------------------------------------------------------
# Games in which all players want the same, by the rules of `goal` alone.


def shares_goals(program: Program) -> bool:
    """Whether there are several players who get the same goal value in every state.

    True only if it can be seen: the players must have the same goal rules, once a player stands in
    place of the role, and conditions without variables that facts decide are left out.

        >>> from ggp.gdl.normalize import load
        >>> shares_goals(load("cooperative_spies")), shares_goals(load("tic_tac_toe"))
        (True, False)
    """
    players = [Symbol(role) for role in program.roles if role != RANDOM]
    return len(players) > 1 and len({_goals_of(program, player) for player in players}) == 1


def _goals_of(program: Program, player: Symbol) -> frozenset[tuple[Term, frozenset[Literal]]]:
    """The goal values of a player, each with the conditions under which it gets it."""
    goals = set()
    for rule in program.by_head.get(GOAL, ()):
        assert isinstance(rule.head, Compound)
        role, value = rule.head.args
        binding = unify(role, player)
        if binding is None:
            continue
        atoms = [(substitute(x.atom, binding), x.negated) for x in rule.body]
        body = {Literal(atom, negated): _truth(program, atom) for atom, negated in atoms}  # type: ignore[arg-type]
        if all(truth in (None, not literal.negated) for literal, truth in body.items()):
            unknown = frozenset(literal for literal, truth in body.items() if truth is None)
            goals.add((substitute(value, binding), unknown))
    return frozenset(goals)


def _truth(program: Program, atom: Term) -> bool | None:
    """Whether an atom holds, if it has no variables and its relation has only facts; else None."""
    if any(True for _ in variables(atom)):
        return None
    if isinstance(atom, Compound) and atom.name == "distinct":
        return atom.args[0] != atom.args[1]
    rules = program.by_head.get(signature(atom), ())
    if not rules or any(rule.body for rule in rules):
        return None
    return any(rule.head == atom for rule in rules)
