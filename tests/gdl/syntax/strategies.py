"""Hypothesis strategies for terms and rules that every syntax can express."""

from __future__ import annotations

from hypothesis import strategies as st

from ggp.gdl.syntax.reading import ARROWS, is_symbol
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable

_ODD_NAMES = [
    *("++", "+", "<", ">", "/", "0.8", "3am", "-1", "01", "+5", "1.", ".", ",", "$x", "|", "#"),
    *("it's", "a\\b", "\\", "'", '"', "'q'", "%", "/*", "~", "_", "_x", "a?", "a:-b", "é", "日本"),
    *("shell", "halt", "user:x", "role", "true", "does", "i̇", "\x00", "ß", "ªb", "²"),
]


def _folded(name: str) -> bool:
    return name == name.lower()


names = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True),
    st.integers(-20, 120).map(str),
    st.sampled_from(_ODD_NAMES),
    st.text(min_size=1, max_size=4)
    .map(str.lower)
    .filter(lambda n: is_symbol(n) and _folded(n) and "*/" not in n and "|#" not in n),
)
"""Names of constants. None ends what KIF reads as a block of comments."""

variable_names = st.one_of(
    st.sampled_from(["", "x", "y", "x1", "_", "_1", "n++", "x'", "a,b", "?x", "\\", "1", "é"]),
    st.from_regex(r"[a-z][a-z0-9_]{0,3}", fullmatch=True),
    names,
)

_functors = names.filter(lambda name: name not in ARROWS)
_relation_names = _functors.filter(lambda name: name not in CONNECTIVES)
_connective_names = st.sampled_from(sorted(CONNECTIVES))


def _compounds(
    functors: st.SearchStrategy[str], args: st.SearchStrategy[Term]
) -> st.SearchStrategy[Term]:
    return st.builds(Compound, functors, st.lists(args, min_size=1, max_size=4).map(tuple))


terms: st.SearchStrategy[Term] = st.recursive(
    st.builds(Symbol, names | _connective_names | st.sampled_from(sorted(ARROWS)))
    | st.builds(Variable, variable_names),
    lambda args: _compounds(_functors | _connective_names, args),
    max_leaves=8,
)
"""Arguments: connectives and arrows are names like any other here."""

relations: st.SearchStrategy[Term] = st.builds(Symbol, _relation_names) | _compounds(
    _relation_names, terms
)

conditions: st.SearchStrategy[Term] = st.recursive(
    relations | st.builds(lambda a, b: Compound("distinct", (a, b)), terms, terms),
    lambda inner: (
        st.builds(lambda c: Compound("not", (c,)), inner)
        | _compounds(st.sampled_from(["and", "or"]), inner)
    ),
    max_leaves=6,
)

rules = st.builds(Rule, relations, st.lists(conditions, max_size=4).map(tuple))

rulesheets = st.lists(rules, max_size=6).map(tuple)
