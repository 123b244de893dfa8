"""Trees over incomplete paths: for every role, statistics of its moves by what it knew.

In come particles, out go visits and values of moves, or strategies. Begin with `paths_tree`, the
tree, and `tree_search`, the search that sends lanes through it in waves; `outcome_sampling` learns
strategies in the same trees. `tree_tables`, `node_table` and `world_table` hold the data and
settings, from decision to decision. Kernels walk down and back values up (`tree_kernels`), add
worlds (`growth_kernels`), learn regrets (`regret_kernels`), prove and forget (`keeping_kernels`).
On a circuit one kernel does all that a wave does on its way down (`growing`). Leaves are played out
by `ggp.search.leaf_values`.
"""
