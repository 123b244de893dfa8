"""Two of a kind side by side: machines with machines, machines with the reference, samples.

`agreement` compares machines of a game, `walks` one with the reference, on `batches` of states or
random matches made `by_steps`; `perft` counts joint moves, and `two_samples` judges statistics.
"""
