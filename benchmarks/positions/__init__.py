"""A hundred positions with proven answers, and how many of them a player gets wrong.

`boards` are the two games in plain Python and `proof` searches them to the end, both without ggp;
`draw` drew the set in `positions.json`; `position_set` reads it; `answers` asks players.
"""
