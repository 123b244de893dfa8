"""Parsers and printers for both syntaxes of GDL: text to terms and rules, and back.

Start with `parser`, which takes a text in either syntax. `kif` parses the prefix syntax and repairs
misplaced parentheses; `infix` parses the other. Their grammars are `kif.lark` and `infix.lark`.
Both use `names` to fold names to lower case, `tuples` to find terms without a name, `shape` to
refuse rules that later stages cannot represent, and `findings` to collect diagnostics. `printer`
prints rules, `comments` prints whole sheets with their comments, and `descriptions` reads the
comment block at the beginning of a sheet.
"""
