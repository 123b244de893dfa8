"""What measures in processes of its own, so that nothing was loaded or cached before.

`circuit_speed` for `benchmarks.circuits`, with a `generated` circuit of any size; `load_phases` for
`benchmarks.loading`; `pgx_speed` for `environments` of `benchmarks.tables`; `ablation` for
`benchmarks.ablation`, with the `ablation_parts` that can be left out. But for the last two they use
only what every version of the project has.
"""
