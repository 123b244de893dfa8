"""Rewrites the golden transcripts: python -m tests.protocol.transcripts [NAME...]

Do so only when messages or decisions were changed on purpose, and read the difference.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ggp.gdl import find_game
from ggp.gdl.program import KEYWORD_ARITY
from ggp.gdl.terms import CONNECTIVES
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import WIRE_STYLES, Info, Ping
from tests.protocol.doubles import LocalWorker, Referee
from tests.support.games import REPOSITORY

FOLDER = REPOSITORY / "tests" / "golden" / "transcripts"
KEYWORDS = {*KEYWORD_ARITY, *CONNECTIVES, "random"}

Spelling = Callable[[str], str]


OF_GDL = KEYWORDS - {"sees", "random"}
"""Keywords that servers keep if they know plain GDL only."""


def scrambled(keywords: Collection[str] = KEYWORDS, seed: int = 1) -> Spelling:
    """A spelling with renamed symbols in mixed case, and keywords in upper case."""
    rng = random.Random(seed)
    spellings: dict[str, str] = {}

    def spell(symbol: str) -> str:
        symbol = symbol.lower()
        if symbol in keywords or symbol.isdigit():
            return symbol.upper()
        while symbol not in spellings:
            new = "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(3))
            if new.title() not in spellings.values():
                spellings[symbol] = new.title()
        return spellings[symbol]

    return spell


@dataclass(frozen=True, slots=True)
class Scene:
    """A match to be recorded: its game, the form of its messages, and the player."""

    style: str
    game: str
    role: str
    player: str
    spelling: Spelling = str
    seed: int = 1

    def transcript(self, serve: Callable[[str], str] | None = None) -> str:
        """The match, played again.

        Args:
            serve: answers messages; None for a lobby and a player in this process.
        """
        serve = serve or LocalWorker(Lobby("ggp", matches=1), self.player).serve
        rules = find_game(self.game).read_text(encoding="utf-8")
        style = WIRE_STYLES[self.style]
        referee = Referee(rules, self.role, style, self.spelling, self.seed)
        ask = Ping() if self.style == "newest" else Info()
        referee.send(ask, serve)
        referee.referee(serve)
        referee.send(ask, serve)
        return "\n".join((*referee.transcript, f"= {referee.goal:g}")) + "\n"


SCENES = {
    "ggp-base": Scene("ggp-base", "tic_tac_toe", "oplayer", "hyperplay:n=3"),
    "newest-scrambled": Scene("newest", "tic_tac_toe", "xplayer", "hyperplay:n=3", scrambled()),
    "dresden": Scene("dresden", "tic_tac_toe", "xplayer", "hyperplay:n=3", seed=2),
    "gdl2-old": Scene("gdl2-old", "monty_hall", "candidate", "hyperplay2:n=2"),
    "gdl2": Scene("gdl2", "krieg_tic_tac_toe", "xplayer", "hyperplay:n=3"),
}
"""One for every way messages are written, by the name of its file."""


def main(names: list[str]) -> None:
    """Record these matches again; all if none is named."""
    for name in names or SCENES:
        (FOLDER / f"{name}.txt").write_text(SCENES[name].transcript(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
