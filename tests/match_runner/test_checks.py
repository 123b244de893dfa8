"""A hundred matches and more: the players are as good as the definitions say."""

from __future__ import annotations

import pytest

from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from tests.match_runner.support import arena_of

pytestmark = pytest.mark.verify

SEED = 0


def bomb_goals(spec: str) -> list[float]:
    arena = arena_of("exploding_bomb", f"agent={spec}")
    records = [play_match(arena, SEED + number) for number in range(100)]
    assert all(record.errors == () for record in records)
    return [record.goals["agent"] or 0 for record in records]


def test_hyperplay2_always_gets_90_from_the_bomb() -> None:
    assert bomb_goals("hyperplay2:n=8") == [90] * 100


def test_hyperplay_cuts_blindly() -> None:
    goals = bomb_goals("hyperplay:n=8")  # 4,096 playouts a candidate
    assert set(goals) == {0, 100}
    assert abs(sum(goals) / 100 - 50) <= 17


def test_hyperplay2_makes_no_dominated_move_at_poker() -> None:
    arena = arena_of("kuhn_poker", "player1=hyperplay2:n=4", "player2=hyperplay2:n=4")
    faced = 0
    for number in range(100):
        record = play_match(arena, SEED + number)
        assert record.errors == ()
        for role in ("player1", "player2"):
            card = record.turns[0].percepts[role][0]
            moves = {turn.joint_move[role] for turn in record.turns}
            faced += _faced_a_bet(record, role) and card != "(dealt queen)"
            assert (card, "fold") not in {("(dealt king)", move) for move in moves}
            assert (card, "call") not in {("(dealt jack)", move) for move in moves}
    assert faced >= 10


def _faced_a_bet(record: MatchRecord, role: str) -> bool:
    return any(turn.joint_move[role] in ("fold", "call") for turn in record.turns)
