"""Search and evaluation of boards with pieces (papers 000 to 002).

States with boards come in; values of states or moves go out. Begin with `board_values`: the
evaluation by material and attacks, as a file declares them, with kernels in `board_kernels`. The
room `exchanges` plays captures out before it values a board. `leaf_kernels` values successors as
they are made: it updates the boards before them (`block_boards`) instead of reading new ones.
`board_search` is the search of Choose-move; it skips boards that cannot matter.
"""
