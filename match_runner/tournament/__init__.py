"""Tournaments: several games, local and remote players, and who is best."""
