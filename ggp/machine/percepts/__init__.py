"""Percepts as numbers, whatever backend finds them.

In come the percepts of a turn, out go ids of sets of them (`percept_table`, the one to open first).
`joint_percepts` has those of plain GDL, where everybody sees the whole joint move.
"""
