"""The commands behind the tables of docs/measured, and the rooms they share.

`python -m benchmarks` measures the tables of `tables`. Measured one sheet or game at a time, beside
other versions of the project: `circuits`, `loading`, `ablation`. Single questions: `intervals` (how
often they miss), `opponent_models` (what a model is worth), `half` (what double the time wins),
`pools` (when they die), `soundness` (moves that were not sound), and `positions` with one right
move.

`children` starts processes that measure, `apart` holds code that runs in them, `sheets` are
rulesheets to measure with, `options` several benchmarks take, `system` says where something was
measured.
"""
