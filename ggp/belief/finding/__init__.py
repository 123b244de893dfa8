"""Finders: ways to find particles for a bag that has few or none (see `Finder` in `sampler`).

A sampler passes a bag in and gets one with more particles back. `exact` enumerates and stores whole
information sets. The finders in `earlier`, and the one in `ggp.belief.solving`, draw again.
`last_resorts` has a sampler with larger bounds, and boards drawn as a game's file declares.
"""
