"""Rulesheets of our own that are work to load: kinds of games whose rules ground to much.

Each says at its top what it is, and what of it is work. They come with the benchmarks, not with the
games: nobody is meant to play them.
"""

from __future__ import annotations

from pathlib import Path

SHEETS: tuple[Path, ...] = tuple(sorted(Path(__file__).parent.glob("*.gdl")))
"""All of them, by name."""

UNGROUNDED: tuple[Path, ...] = tuple(sorted(Path(__file__).parent.glob("ungrounded/*.gdl")))
"""Sheets that do not ground into a circuit within any reasonable time, by name."""
