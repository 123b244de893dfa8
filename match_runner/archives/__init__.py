"""Matches that other programs recorded, as records of ours.

In comes a file, out go records. Begin with `archived`, what a file tells of a match, and how that
is played again by the rules. `files` finds the matches in a file; `ggp_json` reads the JSON of
ggp.org, `dresden_xml` the XML of the Dresden GameController; `cli` has the command.
"""
