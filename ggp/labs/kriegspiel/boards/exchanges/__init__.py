"""Quiescence search: exchanges are played out before a board is valued (paper 001).

Boards come in, and their values after worthwhile captures go out. `quiescence` is the evaluation.
Its kernels: `listing_kernels` finds captures by the attacks of pieces, `exchange_kernels` makes
them and all their answers, and `open_boards` says in which order.
"""
