"""Battleships in fog and meier: two players, chance, and the percepts of each."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.matches import Match

ORDER = [f"{high}{low}" for high in range(3, 7) for low in range(1, high)]
ORDER += [f"{die}{die}" for die in range(1, 7)] + ["21"]
"""Rolls from the least to the meier."""

CLAIMS = [f"(claim {roll})" for roll in ORDER]
CELLS = {f"{x} {y}" for x, y in product(range(1, 5), repeat=2)}
FIRES = {f"(fire {cell})" for cell in CELLS}


class TestBattleships:
    def start(self, admirals: str = "1 1", commodores: str = "3 3") -> Match:
        match = Match("battleships_in_fog")
        for role, cell in (("admiral", admirals), ("commodore", commodores)):
            assert match.legal("random") == {f"(place {role} {cell})" for cell in CELLS}
            assert match.legal("admiral") == match.legal("commodore") == {"noop"}
            assert match.play(random=f"(place {role} {cell})") == {role: (f"(placed {cell})",)}
        return match

    def test_moves_of_each_turn(self) -> None:
        match = self.start()
        assert match.legal("admiral") == FIRES | {"scan", "(move 1 2)", "(move 2 1)"}
        assert match.legal("commodore") == match.legal("random") == {"noop"}
        match.play(admiral="(move 1 2)")
        assert match.legal("admiral") == match.legal("random") == {"noop"}
        ways = {"(move 2 3)", "(move 4 3)", "(move 3 2)", "(move 3 4)"}
        assert match.legal("commodore") == FIRES | {"scan"} | ways
        match.play(commodore="scan")
        assert match.legal("admiral") - FIRES == {"scan", "(move 1 1)", "(move 1 3)", "(move 2 2)"}

    def test_a_scan_shows_the_ship_where_it_is_now_and_is_noticed(self) -> None:
        match = self.start()
        seen = match.play(admiral="scan")
        assert seen == {"admiral": ("(enemy 3 3)",), "commodore": ("scanned",)}
        assert match.play(commodore="(move 3 4)") == {}
        seen = match.play(admiral="scan")
        assert seen == {"admiral": ("(enemy 3 4)",), "commodore": ("scanned",)}
        seen = match.play(commodore="scan")
        assert seen == {"commodore": ("(enemy 1 1)",), "admiral": ("scanned",)}

    def test_a_shot_is_seen_by_both_and_hits_only_where_the_ship_is_now(self) -> None:
        match = self.start()
        match.play(admiral="scan")
        match.play(commodore="(move 3 4)")
        percepts = ("(shot 3 3)",)
        assert match.play(admiral="(fire 3 3)") == {"admiral": percepts, "commodore": percepts}
        assert not match.terminal
        percepts = ("(shot 4 1)",)
        assert match.play(commodore="(fire 4 1)") == {"admiral": percepts, "commodore": percepts}
        match.play(admiral="(fire 3 4)")
        assert match.terminal
        assert match.goals == {"admiral": 100, "commodore": 0}

    def test_a_player_may_fire_at_the_cell_where_its_own_ship_is(self) -> None:
        match = self.start("2 2", "4 4")
        match.play(admiral="(fire 2 2)")
        assert not match.terminal
        match.play(commodore="(fire 2 2)")
        assert match.terminal
        assert match.goals == {"admiral": 0, "commodore": 100}

    @pytest.mark.parametrize(
        ("last", "scores"),
        [
            ("scan", {"admiral": 50, "commodore": 50}),
            ("(fire 1 1)", {"admiral": 0, "commodore": 100}),
        ],
    )
    def test_twenty_turns_are_the_limit(self, last: str, scores: dict[str, int]) -> None:
        match = self.start()
        for turn in range(19):
            match.play(**{("admiral", "commodore")[turn % 2]: "scan"})
        assert not match.terminal
        match.play(commodore=last)
        assert match.terminal
        assert match.goals == scores


def rolled(match: Match, dice: str, roller: str = "player1") -> None:
    """Roll: nobody but the roller may see it."""
    high, low = sorted(dice.split(), reverse=True)
    assert match.play(random=f"(roll {dice})") == {roller: (f"(rolled {high}{low})",)}


class TestMeier:
    @pytest.mark.parametrize("dice", [f"{a} {b}" for a, b in product(range(1, 7), repeat=2)])
    def test_dice_are_read_and_shown_to_the_roller_only(self, dice: str) -> None:
        match = Match("meier")
        assert match.legal("player1") == match.legal("player2") == {"noop"}
        assert len(match.legal("random")) == 36
        rolled(match, dice)
        assert match.legal("player1") == set(CLAIMS)
        assert match.legal("player2") == match.legal("random") == {"noop"}

    @pytest.mark.parametrize("claim", range(20))
    def test_claims_rise(self, claim: int) -> None:
        match = Match("meier")
        rolled(match, "5 5")
        seen = match.play(player1=CLAIMS[claim])
        assert seen == {"player2": (f"(claimed {ORDER[claim]})",)}
        assert match.legal("player2") == {"believe", "doubt"}
        assert match.legal("player1") == match.legal("random") == {"noop"}
        assert match.play(player2="believe") == {"player1": ("believed",)}
        rolled(match, "4 1", "player2")
        assert match.legal("player2") == set(CLAIMS[claim + 1 :])
        assert match.legal("player1") == {"noop"}

    @pytest.mark.parametrize("roll", ORDER)
    def test_a_doubt_is_right_if_more_was_claimed_than_rolled(self, roll: str) -> None:
        for claim in ORDER:
            match = Match("meier")
            rolled(match, " ".join(roll))
            match.play(player1=f"(claim {claim})")
            seen = match.play(player2="doubt")
            shown_roll = f"(shown {roll})"
            assert seen == {"player1": (shown_roll, "doubted"), "player2": (shown_roll,)}
            assert match.terminal
            honest = ORDER.index(claim) <= ORDER.index(roll)
            assert match.goals == {"player1": 100 * honest, "player2": 100 * (not honest)}

    def test_a_claimed_meier_must_be_doubted(self) -> None:
        match = Match("meier")
        rolled(match, "2 1")
        match.play(player1="(claim 21)")
        assert match.legal("player2") == {"doubt"}

    def test_only_the_last_roll_and_the_last_claim_count(self) -> None:
        match = Match("meier")
        rolled(match, "6 6")
        match.play(player1="(claim 61)")
        match.play(player2="believe")
        rolled(match, "4 3", "player2")
        assert match.play(player2="(claim 62)") == {"player1": ("(claimed 62)",)}
        seen = match.play(player1="doubt")
        assert seen == {"player2": ("(shown 43)", "doubted"), "player1": ("(shown 43)",)}
        assert match.goals == {"player1": 100, "player2": 0}

    def test_all_claims_one_by_one(self) -> None:
        match = Match("meier")
        for turn, claim in enumerate(CLAIMS):
            roller, opponent = (("player1", "player2"), ("player2", "player1"))[turn % 2]
            rolled(match, "3 1", roller)
            match.play(**{roller: claim})
            match.play(**{opponent: "believe" if claim != "(claim 21)" else "doubt"})
        assert match.terminal
        assert match.goals == {"player1": 0, "player2": 100}
