"""Kernels that evaluate tapes on blocks of lanes.

Input: tapes and a queue of states. Output: the bits of nets, and goals and moves. Begin with the
modules `tapes` and `blocks`, which have the arrays that kernels read and write, then
`block_kernels`. `block_playouts` plays out all states of a queue and scores finished lanes;
`choice` draws random moves. `lanes` moves states in and out of blocks.
"""
