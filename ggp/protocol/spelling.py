"""Canonical KIF and the server's own spelling of it.

Servers send rules in upper, lower or mixed case, often with every symbol renamed. Renamed
symbols are symbols like any other; only letter case has to be given back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ggp.gdl.program import RANDOM
from ggp.protocol.forms import MessageLimits, split_items, squeezed

_SYMBOL = re.compile(r"[^\s();?\ufeff][^\s();\ufeff]*")
_COMMENT = re.compile(r";[^\r\n]*")
_NAME_IN_LIST = re.compile(r"(?<!\()\(([^ ()?][^ ()]*)\)")
_ROLE_FACT = re.compile(r"\(\s*role\s+([^\s()?]+)\s*\)", re.IGNORECASE)
_SEES_HEAD = re.compile(r"\(\s*(?:<=\s*\(\s*)?sees[\s(]", re.IGNORECASE)


@dataclass(frozen=True)
class Outline:
    """What can be told of a rulesheet without understanding it: quick, whatever its size.

    Attributes:
        roles: canonical, in the order of the rulesheet.
        is_gdl2: whether it defines `sees` or has the role `random`, as in `Program`.
        spellings: canonical symbol -> first spelling in the text, where that differs.
    """

    roles: tuple[str, ...]
    is_gdl2: bool
    spellings: Mapping[str, str]

    def spell(self, term: str) -> str:
        """A canonical term as the server would write it, on one line.

        Of a symbol that the rules spell in two ways, the first is used.
        """
        return _SYMBOL.sub(lambda m: self.spellings.get(m.group(), m.group()), term)


def outline(rules: str, limits: MessageLimits | None = None) -> Outline:
    """The outline of the rules of a message.

    Raises:
        RemoteProtocolError: they pass a limit.
    """
    text = _COMMENT.sub(" ", rules)
    forms = split_items(text, limits or MessageLimits())
    facts = [fact for fact in map(_ROLE_FACT.fullmatch, forms) if fact is not None]
    # Where a parenthesis is missing, facts may stand within the form before them.
    found = facts or list(_ROLE_FACT.finditer(text))
    roles = tuple(dict.fromkeys(fact.group(1).lower() for fact in found))
    sees = any(map(_SEES_HEAD.match, forms))
    return Outline(roles, sees or RANDOM in roles, _first_spellings(_SYMBOL.findall(text)))


def canonical(term: str) -> str:
    """A term as canonical KIF, as `to_kif(parse_term(term))`; what is none, in lower case.

    It is not parsed, since there may be very many percepts.
    """
    return _NAME_IN_LIST.sub(r"\1", squeezed(term).lower())


def _first_spellings(symbols: Iterable[str]) -> dict[str, str]:
    first: dict[str, str] = {}
    for symbol in dict.fromkeys(symbols):
        first.setdefault(symbol.lower(), symbol)
    return {name: spelled for name, spelled in first.items() if name != spelled}
