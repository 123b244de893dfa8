"""Trees over incomplete paths: for every role, statistics of its moves by what it knew.

In come particles, out go visits and values of moves, or strategies. Begin with `paths_tree`, the
tree, and `tree_search`, the search that sends lanes through it in waves; outcome sampling learns
strategies in the same trees. `selection` has the rules by which lanes choose and what they teach,
`growing` the kernel that sends lanes down by such a rule and adds worlds. `tree_tables` has the
arrays of a tree and its settings; `nodes_and_worlds` keeps them from decision to decision. Leaves
are played out by `ggp.search.leaf_values`.
"""
