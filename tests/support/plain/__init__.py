"""The plainest way to say what is right, slow and with nothing shared with ggp.

`reference` evaluates rules, `ground_games` ground programs; `enumeration` lists information sets,
and `clairvoyant` values states by recursion. `letter_case` reads rules whose names differ by case.
"""
