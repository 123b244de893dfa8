"""Tournaments: series read from TOML (`plan`), with standings and ratings."""
