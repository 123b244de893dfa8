"""Grounds rules by gringo, the grounder of clingo.

In come rules, out goes a `GroundProgram`. Begin with `grounding`. `forecast` estimates the number
of ground rules first, and refuses hopeless games; `aspif` reads the output of gringo, and
`simplify` removes rules and atoms whose values are known before play.
"""
