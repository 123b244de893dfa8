"""Exchanges played out before boards are valued (paper 001).

`quiescence` is the evaluation that does so, by the captures that are possible. `exchange_player`
does it many times as fast, where a circuit makes turns: `listing_kernels` finds captures by what
pieces attack, and `exchange_kernels` makes them, and all that follow, in the order of
`open_boards`.
"""
