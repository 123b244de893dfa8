"""Search and evaluation of boards with pieces (papers 000 to 002).

In come states with boards, out go values of states or moves. Begin with `board_values`, the
evaluation by material and attacks of what a file declares, whose kernels are `board_kernels`. The
room `exchanges` plays them out before a board is valued. Boards are valued as they are reached, by
one kernel (`leaf_kernels`), which reads no boards again (`block_boards`) and asks what has changed.
`board_search` is the search of Choose-move; it leaves out boards that cannot matter.
"""
