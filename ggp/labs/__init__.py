"""Labs: lines of research that the core does without.

The core finds them by entry points, as it finds what other packages offer, and imports none of
them. A lab has its own players, options, commands and experiments. `kriegspiel` plays on sampled
boards, `learning` learns policies, `openspiel` has games of OpenSpiel here and ours there, and
`papers` reproduces what was published.
"""
