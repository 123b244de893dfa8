"""The tables of `python -m benchmarks`, a module each.

Random play: `scale` over threads, `fallback` for rules that do not become a circuit,
`environments` beside those of others. Decisions: `decisions` (the first of a match), `boards`
(searched as in kriegspiel). `start` is how long commands take to begin.
"""
