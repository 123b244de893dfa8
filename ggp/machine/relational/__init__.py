"""The backend for rules that do not ground: kernels interpret them, encoded as arrays.

In comes a `Program`, out goes a `Machine`. Start with `relational_machine`. When a game is built,
`compile` translates its `rules` to ops, with conditions in an order that `tuning` finds by
measuring. In play, `play_kernels` answer questions about batches of states: `evaluation` is the
interpreter. All arrays are in `records`, with the kernels for terms and rows; `room` enlarges them
when one is full.
"""
