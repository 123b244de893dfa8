"""Facts of one name, a line each.

table  title, headers, rows, and shares of the rows; words: the lines as people read them, each
       empty for bookkeeping, which is folded away; no lines where the game has no words for them
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Signature, signature
from match_runner.pictures.orders import natural
from match_runner.pictures.picture import DrawnFact, Json, Rules, Taker, short
from match_runner.pictures.shapes import FluentLeaf, FluentShape


def taker(rules: Rules) -> Taker:
    """Makes tables of facts that have their name in common with others."""
    headers = _headers(rules.shapes, rules.roles)

    def take(told: Sequence[DrawnFact]) -> tuple[list[Json], list[DrawnFact]]:
        groups: dict[Signature, list[DrawnFact]] = {}
        for each in told:
            groups.setdefault(signature(each.fact), []).append(each)
        tables, single = [], []
        for (name, arity), members in groups.items():
            if arity == 0 or len(members) == 1:
                single += members
                continue
            rows = []
            for each in members:
                assert isinstance(each.fact, Compound)
                row = tuple(str(arg) for arg in each.fact.args)
                rows.append((row, each.share, rules.told(each.fact)))
            rows.sort(key=lambda r: [natural(text) for text in r[0]])
            words = [text for _, _, text in rows]
            tables.append(
                {
                    "title": short(name),
                    "headers": headers.get((name, arity)) or [str(i + 1) for i in range(arity)],
                    "rows": [[short(text) for text in row] for row, _, _ in rows],
                    "shares": [share for _, share, _ in rows],
                    "words": [] if None in words else words,
                }
            )
        return tables, single

    return take


def certain(part: Json) -> Json | None:
    """The lines that hold for sure."""
    kept = [number for number, share in enumerate(part["shares"]) if share >= 1]
    for key in ("rows", "shares", "words"):
        part[key] = [part[key][number] for number in kept] if part[key] else []
    return part if kept else None


def _headers(shapes: Sequence[FluentShape], roles: Sequence[str]) -> dict[Signature, list[str]]:
    """What the columns of tables are called: by the variables of the rules, if these are words."""
    found = {}
    for shape in shapes:
        head = shape.skeleton[0]
        if head is not None and head[1] == len(shape.leaves) == len(shape.skeleton) - 1:
            found[head] = [_header(i, leaf, roles) for i, leaf in enumerate(shape.leaves)]
    return found


def _header(number: int, leaf: FluentLeaf, roles: Sequence[str]) -> str:
    if leaf.values and set(leaf.values) <= {*roles, RANDOM}:
        return "role"
    return leaf.name if len(leaf.name) > 2 and leaf.name.isalpha() else str(number + 1)
