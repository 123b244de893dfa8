"""Reads the description of a game: the comment block at the beginning of its rulesheet.

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
        title: one line; empty without a comment block.
        text: the introduction, one line for each paragraph.
        sections: Moves, Percepts, Scores and so on, each with its lines as they are set.
    """

    title: str = ""
    text: str = ""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def describe(rulesheet: str) -> Description:
    """The description at the beginning of the text of a rulesheet.

    >>> describe("; Coin\\n;\\n; Guess a coin.\\n;\\n; Moves     heads or tails").title
    'Coin'
    """
    lines = []
    for line in rulesheet.lstrip("\ufeff").splitlines():
        if not line.lstrip().startswith((";", "%")):
            break
        lines.append(line.lstrip().lstrip(";%").removeprefix(" ").rstrip())
    if not lines:
        return Description()
    paragraphs: list[str] = []
    sections: dict[str, list[str]] = {}
    section: list[str] | None = None
    fresh = True
    for line in lines[1:]:
        match = _SECTION.fullmatch(line)
        if match is not None:
            section = sections.setdefault(match[1], [])
            section.append(match[2])
        elif not line:
            section, fresh = None, True
        elif section is not None:
            section.append(line[_INDENT:] if not line[:_INDENT].strip() else line)
        elif fresh:
            paragraphs.append(line)
            fresh = False
        else:
            paragraphs[-1] += f" {line}"
    return Description(
        lines[0], "\n".join(paragraphs), {name: tuple(s) for name, s in sections.items()}
    )
