"""Matches that other programs recorded, as records of ours.

In comes a file, out go records. Begin with `archived`, what a file tells of a match, and how that
is played again by the rules. `formats` finds the matches in a file: the JSON of ggp.org, and the
XML of the Dresden GameController.
"""
