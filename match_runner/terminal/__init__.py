"""A seat in the terminal: a person plays a role, knowing what that role is told and nothing else.

In come typed lines, out go moves. Begin with `play`, a series in which people play; `person` is the
guest in the seat.
"""
