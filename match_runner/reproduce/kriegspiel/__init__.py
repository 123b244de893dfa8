"""Papers 000 to 002: kriegspiel, and small games with such an umpire.

In come duels (`cells` lists them), out go tables and charts of how games went (`charts`). Begin
with `experiment`.
"""
