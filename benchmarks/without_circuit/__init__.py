"""Rulesheets of our own that do not become a circuit, each of another kind."""

from __future__ import annotations

from pathlib import Path

SHEETS: tuple[Path, ...] = tuple(sorted(Path(__file__).parent.glob("*.gdl")))
"""All of them, by name."""
