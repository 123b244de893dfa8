"""Rules made for tests: short `programs`, and games that are odd in one way.

`fleets` are placed in one move, `hopeless` cannot be ground, and `toy_frontend` is a language of
its own.
"""
