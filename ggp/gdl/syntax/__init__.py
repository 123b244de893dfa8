"""Parsers and printers for both syntaxes of GDL: text to terms and rules, and back.

Start with `parser`, which takes a text in either syntax. `kif` parses the prefix syntax and repairs
misplaced parentheses; `infix` parses the other. Their grammars are `kif.lark` and `infix.lark`.
Both use `reading` for what they do alike: names, terms without a name, the shape of rules, and
diagnostics. `printer` prints rules, and whole sheets with their comments.
"""
