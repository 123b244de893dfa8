"""Grounds rules by gringo, the grounder of clingo.

In come rules, out goes a `GroundProgram`. Begin with `grounding`. `forecast` says beforehand if it
is hopeless; `aspif` reads the output of gringo, and `simplify` leaves out what is decided before
play.
"""
