"""Translates between canonical KIF and the server's own spelling.

Servers send rules in upper, lower or mixed case, often with every symbol renamed. A renamed symbol
is a symbol like any other; only its letter case must be restored, and its parentheses if the rules
write `(pass)`, which some servers do not take for `pass`. But if a server has renamed the
keywords `sees` and `random` too, names are exchanged: if the server calls `sees` `pelu`, it is
`sees` inside, and anything that the server calls `sees` is `pelu`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggp.gdl.analysis.renamed import find_renamed, has_idle_role
from ggp.gdl.program import LEGAL, RANDOM, SEES, unify
from ggp.gdl.syntax.reading import ARROWS, TUPLE, UNNAMED, Tuples, spelled
from ggp.gdl.terms import Compound, Rule, Signature, Symbol, Term, Variable, signature
from ggp.protocol.messages import TOKEN, MessageLimits, split_items, squeezed

_SYMBOL = re.compile(r"(?<![^\s();\ufeff])[^\s();?\ufeff][^\s();\ufeff]*")
_COMMENT = re.compile(r";[^\r\n]*")
_LONE = re.compile(r"\(\s*([^\s();?\ufeff][^\s();\ufeff]*)\s*\)")
_LONE_MOVE = re.compile(rf"\(\s*legal\s[^()]*{_LONE.pattern}", re.IGNORECASE)
_NAME_IN_LIST = re.compile(r"(?<!\()\(([^ ()?][^ ()]*)\)")
_ROLE_FACT = re.compile(r"\(\s*role\s+([^\s()?]+)\s*\)", re.IGNORECASE)
_UNNAMED = re.compile(r"\(\s*[(?]")
_SEES_HEAD = re.compile(r"\(\s*(?:<=\s*\(\s*)?sees[\s(]", re.IGNORECASE)


@dataclass(frozen=True)
class Outline:
    """Facts about a rulesheet that need no full parse, so that they are quick at any size.

        >>> rules = outline("(ROLE Robot) (<= (LEGAL Robot (Go ?x)) (place ?x))")
        >>> rules.roles, rules.read("(GO A)"), rules.spell("(go a)")
        (('robot',), '(go a)', '(Go a)')

    Attributes:
        roles: canonical, in the order of the rulesheet.
        is_gdl2: whether the rules define `sees` or have the role `random`, as in `Program`.
        spellings: canonical symbol -> first spelling in the text, if that differs; with
            parentheses if it never stands without them.
        renamed: keyword -> its name in the text, if the server has renamed it.
        may_hide: whether a role has no player although no renamed keyword was found. This is the
            only trace of a scrambled GDL-II game without percepts.
        moves: role and move of every `legal` head; empty if unknown.
        percepts: the percepts in the `sees` heads.
        tuples: the tuples that the rules write without a name; None if there are none.
        lone_moves: canonical symbols that stand in parentheses as moves: `(legal x (pass))`.
    """

    roles: tuple[str, ...] = ()
    is_gdl2: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    may_hide: bool = False
    moves: tuple[tuple[Term, Term], ...] = ()
    percepts: tuple[Term, ...] = ()
    tuples: Tuples | None = field(default=None, compare=False)
    lone_moves: frozenset[str] = frozenset()

    def spell(self, term: str) -> str:
        """A canonical term as the server would write it, on one line.

        If the rules spell a symbol in two ways, the first is used, and the parentheses of moves.
        """
        text = spelled(self.exchanged(term), self.spellings)
        return f"({text})" if term in self.lone_moves and text[0] != "(" else text

    def read(self, term: str) -> str:
        """A term of the server as canonical KIF; a text that is not a term is put in lower case."""
        text = self.exchanged(canonical(term))
        read = quick_term(text) if self.tuples is not None else None
        return text if read is None or self.tuples is None else str(self.tuples.in_message(read))

    def exchanged(self, text: str) -> str:
        """A text in which the keywords that the server has renamed and their names are exchanged.

        Restores the keywords in its rules and terms, and puts its names into ours.
        """
        if not self.renamed:
            return text
        names = {**self.renamed, **{name: keyword for keyword, name in self.renamed.items()}}
        return _SYMBOL.sub(lambda m: names.get(m.group().lower(), m.group()), text)

    def may_be_moves(self, moves: Iterable[str]) -> bool:
        """Whether each of these canonical terms can be a move of its role, in role order."""
        return all(map(self._may_be_move, self.roles, moves))

    def may_be_percepts(self, terms: Iterable[str]) -> bool:
        """Whether each of these canonical terms can be a percept."""
        return all(map(self._may_be_percept, terms))

    def _may_be_percept(self, percept: str) -> bool:
        term = quick_term(percept)
        return term is not None and any(_may_be(head, term) for head in self.percepts)

    def _may_be_move(self, role: str, move: str) -> bool:
        heads = [head for player, head in self.moves if _may_be(player, Symbol(role))]
        term = quick_term(move)
        if term is None or isinstance(term, Variable):
            return False
        return not heads or any(_may_be(head, term) for head in heads)


def outline(rules: str, limits: MessageLimits | None = None, role: str = "") -> Outline:
    """The outline of the rules of a message.

    Args:
        rules: text inside the outer list.
        limits: on the text.
        role: ours, as sent.

    Raises:
        RemoteProtocolError: the rules exceed a limit.
    """
    text = _COMMENT.sub(" ", rules)
    forms = split_items(text, limits or MessageLimits())
    facts = [fact for fact in map(_ROLE_FACT.fullmatch, forms) if fact is not None]
    # If a parenthesis is missing, facts may stand inside the form before them.
    facts = facts or list(_ROLE_FACT.finditer(text))
    roles = tuple(dict.fromkeys(fact.group(1).lower() for fact in facts))
    spellings = first_spellings(text)
    ours = role.lower()
    read, tuples = _read(text)
    if tuples is not None:
        spellings |= UNNAMED
    plain = Outline(roles, spellings=spellings, tuples=tuples, lone_moves=lone_moves_in(text))
    if RANDOM in roles or any(map(_SEES_HEAD.match, forms)):
        return _of_gdl2(plain, read)
    renamed = find_renamed(read, ours)
    if not renamed:
        return replace(plain, may_hide=has_idle_role(read, ours), moves=_heads(read, LEGAL))
    to_keyword = {name: keyword for keyword, name in renamed.items()}
    keyword_roles = tuple(to_keyword.get(role_name, role_name) for role_name in roles)
    scrambled = replace(plain, roles=keyword_roles, renamed=renamed)
    read, tuples = _read(scrambled.exchanged(text))
    return _of_gdl2(replace(scrambled, tuples=tuples), read)


def _read(text: str) -> tuple[tuple[Rule, ...], Tuples | None]:
    """The rules in a text, and their tuples, if there are any."""
    rules = quick_rules(text)
    tuples = Tuples(rules) if _UNNAMED.search(text) else None
    return (tuples.rules, tuples) if tuples else (rules, None)


def canonical(term: str) -> str:
    """A term as canonical KIF, as `to_kif(parse_term(term))`; any other text in lower case.

    The term is not parsed, since there may be very many percepts.

        >>> canonical("( Mark  1 (NOOP) )")
        '(mark 1 noop)'
    """
    return _NAME_IN_LIST.sub(r"\1", squeezed(term).lower())


def lone_moves_in(text: str) -> frozenset[str]:
    """The canonical symbols that are moves in parentheses in a text without comments."""
    return frozenset(map(str.lower, _LONE_MOVE.findall(text)))


def first_spellings(text: str) -> dict[str, str]:
    """The spellings in a text without comments, as in `Outline`."""
    symbols, lone = _SYMBOL.findall(text), _LONE.findall(text)
    first: dict[str, str] = {}
    for symbol in dict.fromkeys(symbols):
        first.setdefault(symbol.lower(), symbol)
    uses = Counter(map(str.lower, symbols))
    for name, times in Counter(map(str.lower, lone)).items():
        if times == uses[name]:
            first[name] = f"({first[name]})"
    return {name: spelled for name, spelled in first.items() if name != spelled}


def _of_gdl2(base: Outline, rules: Sequence[Rule]) -> Outline:
    """The outline as GDL-II, with moves and percepts of the rules, whose keywords are restored."""
    percepts = tuple(percept for _, percept in _heads(rules, SEES))
    return replace(base, is_gdl2=True, moves=_heads(rules, LEGAL), percepts=percepts)


def _heads(rules: Iterable[Rule], relation: Signature) -> tuple[tuple[Term, Term], ...]:
    """Both arguments of every head of a relation: for `legal`, role and move."""
    heads = [rule.head for rule in rules]
    return tuple(
        (head.args[0], head.args[1])
        for head in dict.fromkeys(heads)
        if isinstance(head, Compound) and signature(head) == relation
    )


def _may_be(pattern: Term, ground: Term) -> bool:
    return isinstance(pattern, Variable) or unify(pattern, ground) is not None


# ------------------------------------------------------------------------
# A quick reader of rules and terms, without repairs.
#
# The server must know immediately how a rulesheet uses its words; workers read it properly, with
# the parser. This reader omits everything that it does not understand.


def quick_rules(text: str) -> tuple[Rule, ...]:
    """The rules in a text, in order; none if a parenthesis is never closed.

    A list without a name is a term but not a rule, and is omitted.
    """
    return tuple(
        Rule(form.args[0], form.args[1:])
        if isinstance(form, Compound) and form.name in ARROWS
        else Rule(form)
        for form in _forms(text)
        if not (isinstance(form, Compound) and form.name == TUPLE)
    )


def quick_term(text: str) -> Term | None:
    """The single term in a text; None if there is no such term."""
    terms = list(_forms(text))
    return terms[0] if len(terms) == 1 else None


def _forms(text: str) -> Iterator[Term]:
    """The terms side by side in a text; a list without a name is one of `TUPLE`."""
    # The items of every open list; None for an item that is not understood.
    opened: list[list[Term | None]] = [[]]
    for match in TOKEN.finditer(text):
        token = match.group()
        if token == "(":
            opened.append([])
        elif token == ")":
            if len(opened) > 1:  # an unmatched closing parenthesis otherwise
                closed = _closed(opened.pop())
                opened[-1].append(closed)
        elif token[0] == "?":
            opened[-1].append(Variable(token[1:].lower()))
        elif token[0] != ";":
            opened[-1].append(Symbol(token.lower()))
    if len(opened) == 1:
        yield from (form for form in opened[0] if form is not None)


def _closed(items: list[Term | None]) -> Term | None:
    parts = tuple(item for item in items if item is not None)
    if not parts or len(parts) < len(items):
        return None
    if not isinstance(parts[0], Symbol):
        return Compound(TUPLE, parts) if len(parts) > 1 else None
    name, args = parts[0].name, parts[1:]
    return Compound(name, args) if args else Symbol(name)
