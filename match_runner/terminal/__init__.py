"""A seat in the terminal: a person plays a role by what this role is told, and nothing else.

In come lines that are typed, out go moves. Begin with `play`, the command; `person` is the seat,
`screen` what is read and typed there, and `drawing` draws states.
"""
