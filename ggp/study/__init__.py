"""What suits a game: the study of perfect information Monte Carlo search (paper 003).

J. Long, N. R. Sturtevant, M. Buro, T. Furtak, *Understanding the Success of Perfect Information
Monte Carlo Sampling in Game Tree Search*, AAAI 2010.

`synthetic` draws the paper's trees, and `tree_play` plays them; `kuhn` holds its table exactly;
`walks`, `sets` and `properties` measure any game, and `clairvoyant` values moves as if everybody
knew the state.
"""
