"""The game description language: reading, checking, normalising and printing rulesheets.

    text, `source` -> `syntax` -> `terms` -> `normalize` -> `program`

`normalize` is the file to open first: it has rules examined (`formal`, and `unmeant`: what no rule
forbids and no author meant), made plain (`unfold` leaves plain literals, `safety` binds every
variable, `repairs` mends what would make a game unplayable), and gives a `program`, which every
backend compiles. `analysis` says what a program shows of its game. `games` finds rulesheets by
name, `nearest` the name that was meant.
"""

from ggp.gdl.games import find_game, list_games, read_rulesheet
from ggp.gdl.source import Diagnostic, Rulesheet, Source
from ggp.gdl.syntax.comments import print_sheet
from ggp.gdl.syntax.parser import canonical_term, parse, parse_term, parse_terms
from ggp.gdl.syntax.printer import print_infix, print_kif, to_kif
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable

__all__ = [
    "Compound",
    "Diagnostic",
    "Rule",
    "Rulesheet",
    "Source",
    "Symbol",
    "Term",
    "Variable",
    "canonical_term",
    "find_game",
    "list_games",
    "parse",
    "parse_term",
    "parse_terms",
    "print_infix",
    "print_kif",
    "print_sheet",
    "read_rulesheet",
    "to_kif",
]
