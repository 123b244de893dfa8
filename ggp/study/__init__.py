"""Studies which players suit a game, by perfect information Monte Carlo search (paper 003).

J. Long, N. R. Sturtevant, M. Buro, T. Furtak, *Understanding the Success of Perfect Information
Monte Carlo Sampling in Game Tree Search*, AAAI 2010.

In comes a machine, out go numbers. Begin with `properties`, which measures any game by `walks`,
`matches` (with `turns` of many lanes), and `sets`; `advice` says which players this favours, and
`rehearsal` finds faults of a game (`findings`). `names` number what may occur in a game, and
`lengths` and a `survey` of all states say how long it may be. `synthetic` draws the paper's trees,
and `tree_play` plays them; `kuhn` holds its table exactly.
"""
