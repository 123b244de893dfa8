"""Ways to find particles, one a file: each is a `Finder` of `ggp.belief.finder`.

In comes a bag that has few particles or none, out goes one with more. `exact` knows whole sets;
`histories`, `earlier`, the finder in the room `solving` and `forward` are asked in this order, and
at last `boards`, where a game's file declares them, or a sampler that is `larger`. Begin with
`forward`.
"""
