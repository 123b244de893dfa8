"""Banker and thief, and cooperative spies: the percepts of each role, and their worth."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.games import machine_of_game
from tests.support.matches import Match
from tests.support.plain.enumeration import Path, posterior

BANKS = ("east", "west")
FIVE_BANKS = ("north", "east", "south", "west", "central")
COLOURS = ("red", "blue")


class TestBankerAndThief:
    def scores(self, faulty: str, east: int, raided: str) -> dict[str, int]:
        match = Match("banker_and_thief")
        assert match.play(random=f"(own {faulty})") == {"banker": (f"(own {faulty})",)}
        west = 100 - east
        seen = match.play(banker=f"(deposit {east} {west})")
        assert seen == {"thief": (f"(holds east {east})", f"(holds west {west})")}
        assert match.play(thief=f"(raid {raided})") == {}
        assert match.terminal
        return match.goals

    def test_everybody_waits_for_its_turn(self) -> None:
        match = Match("banker_and_thief")
        deposits = {f"(deposit {east} {100 - east})" for east in range(0, 101, 10)}
        assert match.legal("banker") == match.legal("thief") == {"noop"}
        assert match.legal("random") == {"(own east)", "(own west)"}
        match.play(random="(own west)")
        assert match.legal("banker") == deposits
        assert match.legal("thief") == match.legal("random") == {"noop"}
        match.play(banker="(deposit 30 70)")
        assert match.legal("thief") == {"(raid east)", "(raid west)"}
        assert match.legal("banker") == match.legal("random") == {"noop"}

    @pytest.mark.parametrize("faulty", BANKS)
    @pytest.mark.parametrize("east", range(0, 101, 10))
    def test_money_of_the_faulty_bank_is_the_bankers_or_the_thiefs(
        self, faulty: str, east: int
    ) -> None:
        (sound_bank,) = set(BANKS) - {faulty}
        money = east if faulty == "east" else 100 - east
        assert self.scores(faulty, east, faulty) == {"banker": 0, "thief": money}
        assert self.scores(faulty, east, sound_bank) == {"banker": money, "thief": 0}

    def test_a_greedy_thief_makes_forty_dollars_the_best_deposit(self) -> None:
        def against_greed(own_share: int) -> int:
            raided = "east" if own_share >= 50 else "west"
            return self.scores("east", own_share, raided)["banker"]

        worth = {share: against_greed(share) for share in range(0, 101, 10)}
        assert max(worth, key=lambda share: worth[share]) == 40
        assert worth[40] == 40
        assert worth[100] == 0

    def test_a_thief_that_guesses_leaves_half_of_a_deposit_of_all(self) -> None:
        scores = [self.scores("west", 0, raided) for raided in BANKS]
        assert scores == [{"banker": 100, "thief": 0}, {"banker": 0, "thief": 100}]

    def test_deposits_tell_the_thief_nothing_by_themselves(self) -> None:
        machine = machine_of_game("banker_and_thief", "propnet")
        path: Path = [("noop", ()), ("noop", ("(holds east 10)", "(holds west 90)"))]
        assert list(posterior(machine, 1, path).values()) == [0.5, 0.5]


class TestBankerAndThiefNoteByNote:
    @pytest.mark.parametrize(("faulty", "raided"), list(product(FIVE_BANKS, FIVE_BANKS)))
    def test_notes_are_seen_and_counted(self, faulty: str, raided: str) -> None:
        match = Match("banker_and_thief_sequential")
        assert match.legal("random") == {f"(own {bank})" for bank in FIVE_BANKS}
        assert match.play(random=f"(own {faulty})") == {"banker": (f"(own {faulty})",)}
        notes = ["north"] * 4 + ["west"] * 3 + ["east", "east", "south"]
        for note in notes:
            assert match.legal("banker") == {f"(deposit {bank})" for bank in FIVE_BANKS}
            assert match.legal("thief") == match.legal("random") == {"noop"}
            seen = match.play(banker=f"(deposit {note})")
            assert seen == {"thief": (f"(deposited {note})",)}
        assert match.legal("banker") == {"noop"}
        assert match.legal("thief") == {f"(raid {bank})" for bank in FIVE_BANKS}
        assert match.play(thief=f"(raid {raided})") == {}
        assert match.terminal
        money = 10 * notes.count(faulty)
        robbed = faulty == raided
        assert match.goals == {"banker": 0 if robbed else money, "thief": money if robbed else 0}

    def test_all_notes_fit_into_one_bank(self) -> None:
        match = Match("banker_and_thief_sequential")
        match.play(random="(own south)")
        for _ in range(10):
            match.play(banker="(deposit south)")
        assert "(holds south 100)" in match.fluents
        match.play(thief="(raid north)")
        assert match.goals == {"banker": 100, "thief": 0}


class TestCooperativeSpies:
    @pytest.mark.parametrize(("armed", "word", "cut"), list(product(COLOURS, repeat=3)))
    def test_the_right_cut_wins_for_both_whatever_the_word(
        self, armed: str, word: str, cut: str
    ) -> None:
        match = Match("cooperative_spies")
        assert match.play(random=f"(arm {armed})") == {"spy1": (f"(armed {armed})",)}
        assert match.legal("spy1") == {f"(signal {colour})" for colour in COLOURS}
        assert match.legal("spy2") == {"noop"}
        assert match.play(spy1=f"(signal {word})") == {"spy2": (f"(signalled {word})",)}
        assert match.legal("spy1") == {"noop"}
        assert match.legal("spy2") == {f"(cut {colour})" for colour in COLOURS}
        assert match.play(spy2=f"(cut {cut})") == {}
        assert match.terminal
        score = 100 if cut == armed else 0
        assert match.goals == {"spy1": score, "spy2": score}

    @pytest.mark.parametrize("word", COLOURS)
    def test_a_word_says_nothing_about_the_wire(self, word: str) -> None:
        machine = machine_of_game("cooperative_spies", "propnet")
        path: Path = [("noop", ()), ("noop", (f"(signalled {word})",))]
        states = posterior(machine, 1, path)
        assert {f"(armed {colour})" for colour in COLOURS} <= {f for state in states for f in state}
        assert list(states.values()) == [0.5, 0.5]
