"""Papers 000 to 002: kriegspiel, and small games with a similar umpire.

Duels come in (`cells` lists them, with the published numbers); a verdict on each or what it still
costs (`verdicts`), tables and charts of their games go out. Begin with `experiment`.
"""
