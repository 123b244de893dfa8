"""Rules that do not ground into a circuit, as arrays that kernels interpret."""
