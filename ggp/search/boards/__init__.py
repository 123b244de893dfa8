"""Search and evaluation of boards with pieces (papers 000 to 002).

In come states with boards, out go values of states or moves. Begin with `board_values`, the
evaluation by material and attacks, whose kernels are `board_kernels`, and `mask_kernels` for boards
of up to 64 squares. `quiescence` plays exchanges out before a board is valued, by the `captures`
that are possible, and `lower_bounds` leaves out those that cannot matter (alpha-beta cut-offs);
`board_search` is the search of Choose-move.
"""
