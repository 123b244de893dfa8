"""Playing a circuit: `layout` into tapes, `kernels` on `blocks` of 1,024 lanes, `choice` of random
moves, `block_playouts`; `machine` is the `Machine` made of all that."""
