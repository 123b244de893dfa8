"""Papers 000 to 002: kriegspiel, and small games with such an umpire.

In come duels (`cells` lists them, with the numbers in `published`), out go what they will cost,
tables with a verdict on each, and charts of how games went (`charts`). Begin with `experiment`.
"""
