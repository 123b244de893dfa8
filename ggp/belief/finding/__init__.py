"""Ways to find particles, one a file: each is a `Finder` of `ggp.belief.sampler`.

In comes a bag that has few particles or none, out goes one with more. `exact` knows whole sets;
those in `earlier`, and the one in the room `solving`, draw again. At last comes a sampler that is
`larger`, or boards where a game's file declares them (`last_resorts`).
"""
