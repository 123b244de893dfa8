"""Kernels that evaluate tapes on blocks of lanes.

In come `tapes` and a queue of states, out come bits of nets, goals and moves. Begin with `tapes`
and `blocks`, which kernels read and write, then `block_kernels`; batches hold states as `packed`
bits. `block_playouts` plays whole queues, and scores finished lanes; `choice` draws random moves.
`narrow` evaluates up to 64 states. `lanes` moves states in and out of blocks.
"""
