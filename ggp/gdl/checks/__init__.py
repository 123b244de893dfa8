"""What is wrong with the rules of a game: in come rules, out go problems, each with its place.

`formal`, to open first, collects the problems of one rulesheet, and has the rules of GDL-II,
those of goal values among them. What no rule forbids and no author meant (conditions that
cannot hold, signs of other languages) is `unmeant`.
"""
