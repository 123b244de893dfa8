"""Parses rulesheets and terms: text in, a `Rulesheet` or a `GDLSyntaxError` out.

The parser repairs what it can, and each repair becomes a warning of the rulesheet.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice

from ggp.errors import GDLError
from ggp.gdl.source import Rulesheet, Source
from ggp.gdl.syntax.infix import read_infix
from ggp.gdl.syntax.kif import read_kif, read_kif_terms
from ggp.gdl.syntax.reading import Findings
from ggp.gdl.terms import Rule, Term

_COMMENTS = re.compile(r"[;%][^\r\n]*|#\|[\s\S]*?\|#|/\*[\s\S]*?(?:\*/|\Z)")
# Neither can occur on one line of infix syntax, where a comma or a quote would stand in between.
_WORD = re.compile(r"[()]|[^\s()]+")

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte-order marks of encodings other than UTF-8."""

MAX_WORDS = 200_000
"""Greatest number of words and parentheses of a text; the largest of 300 rulesheets from elsewhere
has 7,300."""

_ONLY_KIF = re.compile(r"\(\s*(?:<=|role[ \t]+[\w?])", re.IGNORECASE)


def parse(text: str | bytes, name: str = "<text>", *, lenient: bool = False) -> Rulesheet:
    """The rulesheet in a text, in KIF or infix syntax.

    >>> sheet = parse("(role white) (<= terminal (true (round 4)))")
    >>> print(*sheet.rules, sep="\\n")
    (role white)
    (<= terminal (true (round 4)))
    >>> parse("role(white). terminal :- true(round(4)).").rules == sheet.rules
    True

    Args:
        text: bytes are decoded as UTF-8, or as UTF-16 with a warning; bytes that are neither are
            replaced, with a warning.
        name: the name of the text in messages, such as its path.
        lenient: leave out rules that cannot be parsed, with a warning, instead of raising.

    Raises:
        GDLSyntaxError: the text has errors, or more than `MAX_WORDS` words. The error lists all
            errors, and has the warnings among its diagnostics.
    """
    complaint, place = "", -1
    if isinstance(text, bytes):
        text, complaint, place = _decode(text)
    text = text.removeprefix("\ufeff")
    source = Source(name, text)
    findings = Findings(source, lenient=lenient)
    if complaint:
        findings.warn("encoding", complaint, place)
    is_kif = _is_kif(text)
    rules: tuple[Rule, ...] = ()
    spelling: dict[str, str] = {}
    if any(True for _ in islice(_WORD.finditer(text), MAX_WORDS, None)):
        message = f"there are more than {MAX_WORDS:,} words and parentheses: this is no rulesheet"
        findings.error("size", message, -1)
    else:
        rules, spelling = (read_kif if is_kif else read_infix)(source, findings)
    findings.raise_errors()
    return Rulesheet(source, "kif" if is_kif else "infix", rules, spelling, findings.diagnostics())


def parse_terms(text: str) -> tuple[Term, ...]:
    """The KIF terms in a text, such as moves or percepts.

    Raises:
        GDLSyntaxError: part of the text is not a term.

    >>> [str(term) for term in parse_terms("noop (mark 1 2)")]
    ['noop', '(mark 1 2)']
    """
    findings = Findings(Source("<term>", text))
    terms = read_kif_terms(findings.source, findings)
    findings.raise_errors()
    return terms


def parse_term(text: str) -> Term:
    """The single KIF term in a text, such as a move or a percept.

    Raises:
        GDLSyntaxError: the text is not one term.
    """
    terms = parse_terms(text)
    if len(terms) != 1:
        findings = Findings(Source("<term>", text))
        offset = terms[1].start if terms else 0
        findings.error("term", f"one term is expected here, not {len(terms)}", offset)
        raise findings.syntax_error()
    return terms[0]


def canonical_term(text: str) -> str:
    """A move or percept as canonical KIF; unchanged if it is canonical or not a single term."""
    try:
        canonical = str(parse_term(text))
    except GDLError:
        return text
    return text if canonical == text else canonical


def _decode(data: bytes) -> tuple[str, str, int]:
    """The text of a file, a complaint about its encoding or "", and the offset for it."""
    wide = _WIDE.get(data[:2])
    if wide is None and 2 * len(data) > 3 * data.count(0) > len(data):
        wide = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
    if wide is not None:
        return (
            data.decode(wide, "replace"),
            "this is UTF-16; save it as UTF-8, which all can read",
            0,
        )
    try:
        return data.decode("utf-8"), "", -1
    except UnicodeDecodeError as error:
        place = len(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        return data.decode("utf-8", "replace"), "this is not UTF-8; such bytes are replaced", place


def _is_kif(text: str) -> bool:
    """Whether a text is KIF, as opposed to infix; only KIF begins with `(` or `;`."""
    begin = text.lstrip()[:1]
    if not begin or begin in "();":
        return True
    bare = _COMMENTS.sub(" ", text).replace("\ufeff", " ").lstrip()
    return bare[:1] in ("(", ")") or _ONLY_KIF.search(bare) is not None
