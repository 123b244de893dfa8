"""Facts of one name, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Signature, signature
from match_runner.pictures.orders import natural
from match_runner.pictures.picture import Json, Rules, Taker, Told, short
from match_runner.pictures.shapes import Leaf, Shape


@dataclass(slots=True)
class Table:
    """Facts of one name, a line each."""

    title: str
    headers: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def to_json(self) -> Json:
        """As the page reads it."""
        return {
            "title": self.title,
            "headers": list(self.headers),
            "rows": [list(row) for row in self.rows],
            "shares": list(self.shares),
        }


def taker(rules: Rules) -> Taker:
    """Makes tables of facts that have their name in common with others."""
    headers = _headers(rules.shapes, rules.roles)

    def take(told: Sequence[Told]) -> tuple[list[Table], list[Told]]:
        groups: dict[Signature, list[Told]] = {}
        for each in told:
            groups.setdefault(signature(each.fact), []).append(each)
        tables, single = [], []
        for (name, arity), members in groups.items():
            if arity == 0 or len(members) == 1:
                single += members
                continue
            table = Table(
                short(name), headers.get((name, arity)) or [str(i + 1) for i in range(arity)]
            )
            rows = []
            for each in members:
                assert isinstance(each.fact, Compound)
                rows.append((tuple(str(arg) for arg in each.fact.args), each.share))
            for row, share in sorted(rows, key=lambda r: [natural(text) for text in r[0]]):
                table.rows.append(tuple(short(text) for text in row))
                table.shares.append(share)
            tables.append(table)
        return tables, single

    return take


def certain(part: Json) -> Json | None:
    """The lines that hold for sure."""
    kept = [row for row in zip(part["rows"], part["shares"], strict=True) if row[1] >= 1]
    part["rows"], part["shares"] = [row for row, _ in kept], [share for _, share in kept]
    return part if kept else None


def is_view(part: Json) -> bool:
    """Percepts are listed anyway."""
    return False


def words(part: Json) -> str:
    """Its lines, one after the other."""
    return "  ".join(f"{part['title']} {' '.join(row)}" for row in part["rows"])


def _headers(shapes: Sequence[Shape], roles: Sequence[str]) -> dict[Signature, list[str]]:
    """What the columns of tables are called: by the variables of the rules, if these are words."""
    found = {}
    for shape in shapes:
        head = shape.skeleton[0]
        if head is not None and head[1] == len(shape.leaves) == len(shape.skeleton) - 1:
            found[head] = [_header(i, leaf, roles) for i, leaf in enumerate(shape.leaves)]
    return found


def _header(number: int, leaf: Leaf, roles: Sequence[str]) -> str:
    if leaf.values and set(leaf.values) <= {*roles, RANDOM}:
        return "role"
    return leaf.name if len(leaf.name) > 2 and leaf.name.isalpha() else str(number + 1)
