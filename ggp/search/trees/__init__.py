"""Trees over incomplete paths: each role's statistics of its moves, by its information.

Particles come in; visits and values of moves, or strategies, go out. Begin with `paths_tree`, the
tree, and `tree_search`, which sends lanes through it in waves; `resolving` grows and solves
subgames in the same trees. `selection` has the rules by which lanes choose; `growing` is the kernel
that walks lanes down and adds worlds. `tree_tables` has a tree's arrays and settings;
`nodes_and_worlds` keeps them from decision to decision. `ggp.search.leaf_values` plays out leaves.
"""
