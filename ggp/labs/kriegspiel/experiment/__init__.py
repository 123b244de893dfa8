"""Papers 000 to 002: kriegspiel, and small games with a similar umpire.

Duels come in (`cells` lists them, with the published numbers); forecasts of their cost, tables with
a verdict on each, and charts of their games go out. Begin with `experiment`.
"""
