"""The game description language: reading, checking, normalising and printing rulesheets.

    text, `source` -> `syntax` -> `terms` -> `normalize` -> `program`

Start with `normalize`. It checks the rules (`formal`, and `mistakes` for rules that are allowed but
cannot be intended), reduces them to plain literals, binds every variable (`safety`), repairs rules
that would make a game unplayable, and returns a `Program`, which every backend compiles. `analysis`
derives properties of a game from its rules, `elsewhere` finds rules that other engines read
differently. `games` finds rulesheets by name; `nearest` suggests a name for a misspelled one.
`random_rules` writes random rulesheets.
"""

from typing import TYPE_CHECKING

from ggp.launch import later

if TYPE_CHECKING:
    from ggp.gdl.games import find_game, list_games, read_rulesheet
    from ggp.gdl.source import Diagnostic, Rulesheet, Source
    from ggp.gdl.syntax.parser import canonical_term, parse, parse_term, parse_terms
    from ggp.gdl.syntax.printer import print_infix, print_kif, print_sheet, to_kif
    from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable
else:
    __getattr__ = later(__name__, "terms", "source", "syntax.printer", "syntax.parser", "games")

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
