"""The commands behind the tables of docs/measured, and the rooms they share.

`python -m benchmarks` measures the tables of `tables`; `compare` compares two of its results.
Measured one sheet or game at a time, beside other versions of the project: `circuits`, `loading`,
`ablation`. Single questions: `instructions` (what the processor gets to see), `intervals` (how
often they miss), `opponent_models` (what a model is worth), `pools` (when they die), `soundness`
(moves that were not sound), `walks` (clocked beside counted ones), and `positions` with one right
move.

`apart` holds code that runs in processes of its own, `sheets` are rulesheets to measure with,
`system` says where something was measured.
"""
