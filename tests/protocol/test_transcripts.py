"""A whole match in every dialect goes message by message as it did when it was recorded."""

from __future__ import annotations

import pytest

from ggp.protocol.messages import WIRE_STYLES
from tests.protocol.transcripts import FOLDER, SCENES


def test_every_scene_has_a_golden_transcript_and_every_dialect_a_scene() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(SCENES), (
        "run python -m tests.protocol.transcripts"
    )
    assert {scene.style for scene in SCENES.values()} == set(WIRE_STYLES)


@pytest.mark.parametrize("name", SCENES)
def test_match_goes_as_recorded(name: str) -> None:
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert SCENES[name].transcript() == expected
