"""Tests of paths found by solving."""
