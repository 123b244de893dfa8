"""Tournaments: series read from TOML, with standings and ratings.

In comes a file (`toml_file`, the one to open first), out goes a `summary` of the matches that were
played.
"""
