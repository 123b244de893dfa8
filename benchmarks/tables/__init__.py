"""The tables of `python -m benchmarks`, a module each.

Random play: `speed` of all backends, `profile` of where its time goes, `scale` over threads,
`fallback` for rules that do not become a circuit, `environments` beside those of others.
Decisions: `decisions` (the first of a match), `evaluation` (on both backends), `operations` (that
trees stand on), `boards` (searched as in kriegspiel), `learning` (what policies learn from).
`start` is how long commands take to begin.
"""
