"""The game description language: reading, checking, normalising and printing rulesheets."""

from ggp.gdl.comments import print_sheet
from ggp.gdl.games import find_game, list_games, read_rulesheet
from ggp.gdl.parser import canonical_term, parse, parse_term, parse_terms
from ggp.gdl.printer import print_infix, print_kif, to_kif
from ggp.gdl.source import Diagnostic, Rulesheet, Source
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
