"""Board games, most with moves that the other does not see: against umpires, and by script."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.games.umpires import UMPIRES, Umpire
from tests.support.matches import Match

MATCHES = 60


def play_alike(game: str, umpire: Umpire, seed: int) -> tuple[dict[str, int], Counter[str]]:
    """One match in which machine and umpire must agree; scores, and percepts with their number.

    Every other match is played at random, in the others tempting moves are preferred.
    """
    rng = random.Random(seed)
    match = Match(game)
    announced: Counter[str] = Counter()
    while (scores := umpire.scores()) is None:
        assert not match.terminal
        joint = {}
        for role in umpire.roles:
            legal = umpire.legal(role)
            assert match.legal(role) == legal
            tempting = [move for move in legal if move != "noop" and umpire.tempting(move)]
            moves = tempting if tempting and seed % 2 else legal
            joint[role] = rng.choice(sorted(moves))
        expected = umpire.play(joint)
        seen = match.play(**joint)
        assert {role: set(percept) for role, percept in seen.items()} == expected
        announced.update(
            percept.strip("(").split()[0]
            for percept_text in expected.values()
            for percept in percept_text
        )
    assert match.terminal
    assert match.goals == scores
    return scores, announced


@pytest.mark.parametrize(
    ("game", "announcements"),
    [
        ("blind_breakthrough", {"refused", "captured", "lost", "your_move"}),
        ("breakthrough", {"did"}),
        ("connect_four", {"did"}),
        ("kriegspiel_king_rook", {"placed", "refused", "your_move", "check"}),
        ("phantom_connect_four", {"landed", "refused", "your_move"}),
    ],
)
def test_game_is_played_as_an_umpire_says(game: str, announcements: set[str]) -> None:
    results: Counter[tuple[int, ...]] = Counter()
    announced: Counter[str] = Counter()
    for seed in range(MATCHES):
        scores, percepts = play_alike(game, UMPIRES[game](), seed)
        results[tuple(scores[role] for role in sorted(scores))] += 1
        announced += percepts
    assert set(announced) == announcements
    assert min(announced.values()) >= 10
    assert results[(100, 0)] >= 5
    assert results[(0, 100)] >= 5


class TestBlindBreakthrough:
    def test_a_blocked_move_is_refused_to_the_mover_only_and_may_be_tried_again_later(self) -> None:
        match = Match("blind_breakthrough")
        assert len(match.legal("white")) == 13
        assert match.legal("black") == {"noop"}
        assert match.play(white="(move 3 2 3 3)") == {"black": ("your_move",)}
        assert match.play(black="(move 3 4 3 3)") == {"black": ("refused",)}
        assert match.legal("white") == {"noop"}
        assert "(move 3 4 3 3)" not in match.legal("black")
        assert {"(move 3 4 2 3)", "(move 3 4 4 3)"} <= match.legal("black")
        assert match.play(black="(move 1 4 1 3)") == {"white": ("your_move",)}
        assert match.play(white="(move 5 2 5 3)") == {"black": ("your_move",)}
        assert "(move 3 4 3 3)" in match.legal("black")

    def test_a_capture_is_announced_to_both_and_the_cell_to_its_owner_only(self) -> None:
        match = Match("blind_breakthrough")
        match.play(white="(move 3 2 3 3)")
        seen = match.play(black="(move 4 4 3 3)")
        assert seen == {"black": ("captured",), "white": ("(lost 3 3)", "your_move")}
        assert not any(move.startswith("(move 3 3 ") for move in match.legal("white"))
        assert "(cell 3 3 black)" in match.fluents
        # A plain move and one that meets an enemy by the side look alike to the mover.
        seen = match.play(white="(move 2 2 3 3)")
        assert seen == {"white": ("captured",), "black": ("(lost 3 3)", "your_move")}

    def test_the_last_row_wins(self) -> None:
        match = Match("blind_breakthrough")
        match.play(white="(move 1 2 1 3)")
        match.play(black="(move 5 4 5 3)")
        match.play(white="(move 1 3 2 4)")
        match.play(black="(move 4 4 3 3)")
        assert not match.terminal
        assert match.play(white="(move 2 4 1 5)")["white"] == ("captured",)
        assert match.terminal
        assert match.goals == {"white": 100, "black": 0}

    def test_the_last_piece_taken_wins(self) -> None:
        results = set()
        for seed in range(1, 400, 2):
            umpire = UMPIRES["blind_breakthrough"]()
            scores, _ = play_alike("blind_breakthrough", umpire, seed)
            pieces = umpire.pieces  # type: ignore[attr-defined]
            if not all(pieces.values()):
                results.add(scores["white"])
            if len(results) == 2:
                return
        raise AssertionError(f"only {results}")


class TestBreakthrough:
    def test_a_piece_straight_ahead_blocks_and_one_diagonally_ahead_is_taken(self) -> None:
        match = Match("breakthrough")
        assert len(match.legal("white")) == 16
        assert match.legal("black") == {"noop"}
        for white, black in (("3 2 3 3", "3 5 3 4"), ("1 2 1 3", "2 5 2 4")):
            match.play(white=f"(move {white})")
            match.play(black=f"(move {black})")
        assert "(move 3 3 3 4)" not in match.legal("white")
        match.play(white="(move 3 3 2 4)")
        assert "(cell 2 4 white)" in match.fluents
        assert "(cell 2 4 black)" not in match.fluents
        assert "(move 1 5 2 4)" in match.legal("black")

    def test_the_last_row_wins(self) -> None:
        match = Match("breakthrough")
        for white, black in (
            ("1 2 1 3", "6 5 6 4"),
            ("1 3 1 4", "5 5 5 4"),
            ("1 4 2 5", "4 5 4 4"),
        ):
            match.play(white=f"(move {white})")
            match.play(black=f"(move {black})")
        assert not match.terminal
        match.play(white="(move 2 5 3 6)")
        assert match.terminal
        assert match.goals == {"white": 100, "black": 0}

    def test_the_last_piece_taken_wins(self) -> None:
        results = set()
        for seed in range(1, 600, 2):
            umpire = UMPIRES["breakthrough"]()
            scores, _ = play_alike("breakthrough", umpire, seed)
            if len(set(umpire.board.values())) == 2:  # type: ignore[attr-defined]
                results.add(scores["white"])
            if len(results) == 2:
                return
        raise AssertionError(f"only {results}")


class TestConnectFour:
    @pytest.mark.parametrize(
        ("drops", "winner"),
        [
            ("8787878", "first"),
            ("83848516", "second"),
            ("34455656686", "first"),
            ("87766565535", "first"),
        ],
        ids=["column", "row", "rising", "falling"],
    )
    def test_four_in_a_line_win(self, drops: str, winner: str) -> None:
        match = Match("connect_four")
        for turn, column in enumerate(drops):
            assert not match.terminal
            match.play(**{("first", "second")[turn % 2]: f"(drop {column})"})
        assert match.terminal
        assert match.goals == {role: 100 * (role == winner) for role in ("first", "second")}

    def test_a_full_column_is_closed_to_both(self) -> None:
        match = Match("connect_four")
        for _ in range(3):
            match.play(first="(drop 4)")
            match.play(second="(drop 4)")
        assert match.legal("first") == {f"(drop {x})" for x in (1, 2, 3, 5, 6, 7, 8)}
        match.play(first="(drop 1)")
        assert match.legal("second") == {f"(drop {x})" for x in (1, 2, 3, 5, 6, 7, 8)}


class TestPhantomConnectFour:
    def test_a_drop_tells_the_mover_its_row_and_the_other_that_it_was_made(self) -> None:
        match = Match("phantom_connect_four")
        assert match.play(first="(drop 2)") == {"first": ("(landed 1)",), "second": ("your_move",)}
        assert match.play(second="(drop 2)") == {"second": ("(landed 2)",), "first": ("your_move",)}
        assert match.play(first="(drop 3)") == {"first": ("(landed 1)",), "second": ("your_move",)}

    def test_a_full_column_is_refused_to_a_role_that_did_not_know_it(self) -> None:
        match = Match("phantom_connect_four")
        column = {"(drop 1)"}
        for _ in range(2):
            match.play(first="(drop 1)")
            match.play(second="(drop 1)")
        match.play(first="(drop 1)")
        assert column <= match.legal("second")
        assert match.play(second="(drop 1)") == {"second": ("refused",)}
        assert match.legal("first") == {"noop"}
        assert match.legal("second") == {f"(drop {x})" for x in range(2, 7)}
        match.play(second="(drop 2)")
        assert match.legal("first") == {f"(drop {x})" for x in range(2, 7)}
        match.play(first="(drop 2)")
        assert match.legal("second") == {f"(drop {x})" for x in range(2, 7)}

    @pytest.mark.parametrize(
        ("drops", "winner"),
        [
            ("1213141", "first"),
            ("61626314", "second"),
            ("12233434464", "first"),
            ("65544343313", "first"),
        ],
        ids=["column", "row", "rising", "falling"],
    )
    def test_four_in_a_line_win(self, drops: str, winner: str) -> None:
        match = Match("phantom_connect_four")
        for turn, column in enumerate(drops):
            assert not match.terminal
            match.play(**{("first", "second")[turn % 2]: f"(drop {column})"})
        assert match.terminal
        assert match.goals == {role: 100 * (role == winner) for role in ("first", "second")}

    def test_a_full_board_without_a_line_is_a_draw(self) -> None:
        match = Match("phantom_connect_four")
        for turn, column in enumerate("153156222233165532341566614444"):
            assert not match.terminal
            match.play(**{("first", "second")[turn % 2]: f"(drop {column})"})
        assert match.terminal
        assert match.goals == {"first": 50, "second": 50}


class TestKriegspielKingRook:
    def start(self, king: str) -> Match:
        match = Match("kriegspiel_king_rook")
        assert match.play(random=f"(place {king})") == {"black": (f"(placed {king})",)}
        return match

    def test_chance_places_the_king_where_it_is_not_attacked(self) -> None:
        match = Match("kriegspiel_king_rook")
        far = {f"(place {x} {y})" for x in range(2, 6) for y in range(3, 6)}
        assert match.legal("random") == far | {"(place 5 1)", "(place 5 2)"}

    def test_checkmate_ends_the_match(self) -> None:
        match = self.start("5 2")
        assert match.play(white="(rook 1 3)") == {"black": ("your_move",)}
        assert len(match.legal("black")) == 5
        assert match.play(black="(king 5 3)") == {"black": ("refused",)}
        assert match.play(black="(king 4 1)") == {"black": ("refused",)}
        assert match.legal("black") == {"(king 5 1)", "(king 4 2)", "(king 4 3)"}
        assert match.legal("white") == {"noop"}
        assert match.play(black="(king 5 1)") == {"white": ("your_move",)}
        seen = match.play(white="(rook 5 3)")
        assert seen == {"white": ("check",), "black": ("check", "your_move")}
        assert match.terminal
        assert match.goals == {"white": 100, "black": 0}

    def test_white_may_try_to_step_beside_the_king_it_does_not_see(self) -> None:
        match = self.start("5 2")
        legal = match.legal("white")
        assert {"(king 4 1)", "(king 4 2)", "(rook 2 1)", "(rook 1 5)"} <= legal
        assert match.play(white="(king 4 1)") == {"white": ("refused",)}
        assert match.legal("black") == {"noop"}
        assert match.legal("white") == legal - {"(king 4 1)"}

    def test_a_king_that_steps_aside_gives_a_discovered_check(self) -> None:
        match = self.start("5 1")
        seen = match.play(white="(king 3 2)")
        assert seen == {"white": ("check",), "black": ("check", "your_move")}
        assert not match.terminal

    def test_stalemate_is_no_mate(self) -> None:
        match = self.start("5 1")
        assert match.play(white="(rook 1 2)") == {"black": ("your_move",)}
        assert match.terminal
        assert match.goals == {"white": 0, "black": 100}

    def test_a_rook_that_is_lost_loses(self) -> None:
        match = self.start("2 3")
        match.play(white="(rook 1 2)")
        match.play(black="(king 1 2)")
        assert match.terminal
        assert match.goals == {"white": 0, "black": 100}

    def test_a_protected_rook_cannot_be_taken(self) -> None:
        match = self.start("2 3")
        match.play(white="(king 2 1)")
        match.play(black="(king 3 3)")
        match.play(white="(rook 1 2)")
        match.play(black="(king 2 3)")
        match.play(white="(king 1 1)")
        assert match.play(black="(king 1 2)") == {"black": ("refused",)}

    def test_black_wins_with_its_twentieth_move(self) -> None:
        match = self.start("5 5")
        for turn in range(20):
            assert not match.terminal
            match.play(white=("(rook 1 2)", "(rook 1 1)")[turn % 2])
            match.play(black=("(king 5 4)", "(king 5 5)")[turn % 2])
        assert match.terminal
        assert match.goals == {"white": 0, "black": 100}
