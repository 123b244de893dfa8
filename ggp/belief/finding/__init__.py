"""Finders: ways to find particles for a bag that has few or none (see `Finder` in `sampler`).

A sampler passes a bag in and gets one with more particles back. `exact` enumerates and stores whole
information sets. The finders in `earlier`, and the one in `ggp.belief.solving`, draw again. The
last resorts of players lie beside the samplers that they ask.
"""
