"""Finds fluents turn by turn, where terms grow without end but the game does not.

Grounding finds what may hold in any turn as if the game never ended. Where a fluent counts with
functions, as in (heap (s (s z))), that is without end, though a game of eight turns can reach only
nine of them. So we go through the game turn by turn, with the fluents that may hold and those that
surely do:

    turn   surely     maybe                            terminal
    0      (step 0)   (heap z)                         maybe
    1      (step 1)   (heap z) (heap (s z))            maybe
    2      (step 2)   (heap z) ... (heap (s (s z)))    in all such states: no other turn follows

The fluents that may hold are those that grounding finds possible when each fluent before may hold
or not, and each legal move may be made or not; those that surely hold it finds to be facts. A
fluent that surely ends the game, such as the third heap if three are enough, has no part in what
follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ggp.errors import ReasonerLimitError
from ggp.machine.propnet.build.rewriting.translate import Translation

if TYPE_CHECKING:
    from clingo import Control, SymbolicAtom

MOST_LETTERS = 3_000_000
"""Letters of programs, which take some seconds, after which we give up: grounding everything at
once may be as fast. No time is measured, so that the same rules always become the same circuit."""

_LETTERS_MORE = 2_000
"""The fixed cost of grounding a program, in letters."""

MOST_ASKED = 32
"""Greatest number of fluents in one turn that are tested for ending the game; of more, none is."""

Run = Callable[[str], "Control"]


def lasting_fluents(
    translation: Translation, run: Run, *, endless: bool = False
) -> list[str] | None:
    """The fluents that may hold in some turn of a game that ends; None if no end was found.

    Args:
        translation: the translated game.
        run: grounds a program.
        endless: whether terms that grow do so for ever if the game does not end, so that they
            cannot all be ground at once.

    Returns:
        their terms as clingo prints them, sorted.

    Raises:
        ReasonerLimitError: no end was found, and terms are endless.
    """
    turns = _Turns(translation, run)
    start = turns.ground(frozenset(), frozenset())
    certain = frozenset(fluent for fluent, _ in _terms(start, "init"))
    possible = certain
    shallow = max(map(_depth, certain), default=0)
    found: set[str] = set()
    seen: set[tuple[frozenset[str], frozenset[str]]] = set()
    enders: set[str] = set()
    # Turns that repeat bring nothing new.
    while (certain, possible) not in seen:
        seen.add((certain, possible))
        # Only new fluents that grow are tested: others need no end.
        deep = {each for each in possible - found if _depth(each) > shallow}
        found |= possible
        if turns.letters > MOST_LETTERS:
            if endless and deep:
                raise ReasonerLimitError("letters", MOST_LETTERS, "grounding the rules by turns")
            return None
        turn = turns.ground(certain, possible)
        if _ends(turn):
            break
        asked = (deep | enders) & possible
        if len(asked) > MOST_ASKED:
            asked = set()
        last = {each for each in asked if _ends(turns.ground(certain | {each}, possible))}
        enders |= last
        if last:
            turn = turns.ground(certain, possible - last)
        following = _terms(turn, "next")
        certain = frozenset(fluent for fluent, sure in following if sure)
        possible = frozenset(fluent for fluent, _ in following)
    return sorted(found)


class _Turns:
    """Grounds turns, and counts the letters of their programs."""

    def __init__(self, translation: Translation, run: Run) -> None:
        self._translation, self._run = translation, run
        self.letters = 0

    def ground(self, certain: frozenset[str], possible: frozenset[str]) -> Control:
        text = self._translation.of_states(sorted(certain), sorted(possible - certain))
        self.letters += len(text) + _LETTERS_MORE
        return self._run(text)


def _terms(control: Control, name: str) -> list[tuple[str, bool]]:
    """The terms of `init` or `next` that may hold, and whether each surely does."""
    atoms = control.symbolic_atoms.by_signature(name, 1)
    return [(str(atom.symbol.arguments[0]), atom.is_fact) for atom in atoms]


def _ends(control: Control) -> bool:
    """Whether all these states are terminal."""
    atoms: list[SymbolicAtom] = list(control.symbolic_atoms.by_signature("terminal", 0))
    return any(atom.is_fact for atom in atoms)


def _depth(term: str) -> int:
    """The depth to which functions nest."""
    depth = deepest = 0
    for letter in term:
        if letter == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif letter == ")":
            depth -= 1
    return deepest
