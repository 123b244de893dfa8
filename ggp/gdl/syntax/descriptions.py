"""The comment block that a rulesheet begins with, which describes the game in words.

; Title
;
; What the game is about, in sentences.
;
; Moves     what each role may do,
;           over several lines
; Percepts  ...

In infix syntax it begins with `%`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTION = re.compile(r"([A-Z]\w+) {2,}(\S.*)")
_INDENT = 10


@dataclass(frozen=True, slots=True)
class Description:
    """A game in words.

    Attributes:
        title: one line; empty where there is no comment block.
        text: what it is about, one paragraph a line.
        sections: such as Moves, Percepts, Scores, each with its lines as they are set.
    """

    title: str = ""
    text: str = ""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def describe(rulesheet: str) -> Description:
    """The comment block at the beginning of a rulesheet."""
    lines = []
    for line in rulesheet.lstrip("\ufeff").splitlines():
        if not line.lstrip().startswith((";", "%")):
            break
        lines.append(line.lstrip().lstrip(";%").removeprefix(" ").rstrip())
    if not lines:
        return Description()
    paragraphs: list[str] = []
    sections: dict[str, list[str]] = {}
    inside: list[str] | None = None
    fresh = True
    for line in lines[1:]:
        found = _SECTION.fullmatch(line)
        if found is not None:
            inside = sections.setdefault(found[1], [])
            inside.append(found[2])
        elif not line:
            inside, fresh = None, True
        elif inside is not None:
            inside.append(line[_INDENT:] if not line[:_INDENT].strip() else line)
        elif fresh:
            paragraphs.append(line)
            fresh = False
        else:
            paragraphs[-1] += f" {line}"
    return Description(
        lines[0], "\n".join(paragraphs), {name: tuple(s) for name, s in sections.items()}
    )
