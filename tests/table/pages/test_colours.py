"""The colours of the pages, their sizes of type and their gaps have names."""

from __future__ import annotations

import re
from pathlib import Path

import match_runner.table

STATIC = Path(match_runner.table.__file__).parent / "static"
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?=\s*[;,)])|\brgba?\(|\bhsla?\(")
SIZE = re.compile(r"font-size:\s*[\d.]+rem|gap:[^;]*\drem")
NAMED = re.compile(r"--[a-z0-9-]+:[^;]*;")


def test_colours_are_written_down_as_values_of_properties_only() -> None:
    sheets = sorted(STATIC.glob("*.css"))
    assert sum(len(COLOUR.findall(sheet.read_text())) for sheet in sheets) > 50
    for sheet in sheets:
        assert not COLOUR.search(NAMED.sub("", sheet.read_text())), sheet.name


def test_sizes_of_type_and_gaps_are_named() -> None:
    assert SIZE.search(".a { font-size: 0.8rem; }")
    assert SIZE.search(".a { gap: 0 1.5rem; }")
    for sheet in STATIC.glob("*.css"):
        assert SIZE.findall(NAMED.sub("", sheet.read_text())) == [], sheet.name
