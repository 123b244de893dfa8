"""Text becomes terms and rules, and terms and rules become text: both syntaxes of GDL.

`parser`, to open first, takes a text in either syntax; what was wrong or odd in it is collected in
`findings`. `kif` reads the prefix syntax, and repairs misplaced parentheses; `infix` reads the
other. Their grammars are the files `kif.lark` and `infix.lark`. Both have `names` fold names to
lower case, `tuples` find terms without a name, and `shape` refuse what could not be represented.
`printer` prints rules, `comments` whole sheets with their comments, and `descriptions` reads the
comment block a sheet begins with.
"""
