"""Proves facts about a circuit that its gates do not show: guessed from matches, then proved.

In comes a `Circuit`, out goes what always holds. Begin with `induction`, which proves guesses
about reachable states by asking clingo. `sampling` plays random matches.
"""
