"""What suits a game: the study of perfect information Monte Carlo search (paper 003).

J. Long, N. R. Sturtevant, M. Buro, T. Furtak, *Understanding the Success of Perfect Information
Monte Carlo Sampling in Game Tree Search*, AAAI 2010.

In comes a machine, out go numbers. Begin with `properties`, which measures any game by `walks`,
`matches` (with `turns` of many lanes), `sets`, how fast these are `shrinking`, and `clairvoyance`;
`advice` says what that speaks for, and `rehearsal` what is wrong with a game (`findings`).
`synthetic` draws the paper's trees, and `tree_play` plays them (`tree_kernels`); `kuhn` holds its
table exactly.
"""
