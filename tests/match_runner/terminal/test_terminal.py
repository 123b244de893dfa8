"""People at the terminal: the texts they see, their input, and how they leave."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ggp.gdl import parse_term
from ggp.gdl.normalize import load
from match_runner.cli import main
from match_runner.match.records import read_record
from match_runner.pictures import Layout
from match_runner.terminal import Screen, TimeIsUpError, draw
from tests.support.games import REPOSITORY

pytestmark = pytest.mark.usefixtures("compiled")

TIC_TAC_TOE = ("tic_tac_toe", "--player", "xplayer=human", "--player", "oplayer=legal")
KUHN = ("kuhn_poker", "--player", "player1=human", "--player", "player2=legal", "--seed", "3")


def play(*args: str, typed: str) -> Result:
    return CliRunner().invoke(
        main, ["play", *args, "--backend", "prolog"], input=typed, prog_name="match-runner"
    )


def test_person_plays_a_match_by_number_and_by_text() -> None:
    for typed in ("2\n1\n", "check\nfold\n", "(check)\nFOLD\n"):
        result = play(*KUHN, typed=typed)
        assert result.exit_code == 0, result.output
        assert re.search(r"In turn 1 you played noop and saw \(dealt \w+\)\.", result.stdout)
        assert "These facts hold in all 2 possible states:" in result.stdout
        assert "  1. bet   2. check" in result.stdout
        assert "In turn 2 you played check" in result.stdout
        assert "The match is over. player1 scores " in result.stdout


def test_forced_moves_play_themselves_and_their_percepts_are_shown_at_the_next_choice() -> None:
    result = play(*TIC_TAC_TOE, typed="5\n1\nquit\n")
    assert re.findall(r"Turn (\d+): you are", result.stdout) == ["1", "3", "5"]
    third = result.stdout[result.stdout.index("Turn 3: ") : result.stdout.index("Turn 5: ")]
    assert re.findall(r"In turn (\d+) you played", third) == ["1", "2"]


def test_nothing_hidden_is_shown_before_the_end() -> None:
    for seed in range(4):
        result = play(*KUHN[:-1], str(seed), typed="2\n1\n")
        play_text, _, epilogue = result.stdout.partition("What really happened")
        (own_card,) = set(re.findall(r"dealt (\w+)", play_text))
        assert re.search(rf"player1 holds: {own_card[0].upper()}.*player2 holds: \?", play_text)
        assert not re.search(r"player2 +(jack|queen|king)", play_text)
        assert set(re.findall(r"jack|queen|king", play_text)) == {own_card}
        assert len(set(re.findall(r"dealt (\w+)", epilogue))) == 2


def test_board_of_an_open_game_is_drawn() -> None:
    result = play(*TIC_TAC_TOE, typed="(mark 2 2)\n")
    assert "These facts hold in all" not in result.stdout
    last = result.stdout[result.stdout.index("Turn 3: ") :]
    assert [line for line in last.splitlines() if "✕" in line] == ["  │ 2 │    │ ✕x │   │"]


def test_cells_that_may_or_may_not_be_taken_have_a_question_mark() -> None:
    args = ("krieg_tic_tac_toe", "--player", "xplayer=human", "--player", "oplayer=legal")
    result = play(*args, typed="(mark 2 2)\n")
    last = result.stdout[result.stdout.index("Turn 3: ") :]
    assert "These facts hold in all 8 possible states:" in last
    board = last[: last.index("Your legal moves")]
    assert board.count(" ? ") == 8
    assert board.count(" ✕x ") == 1


def test_picture_without_colours_or_symbols_still_says_whose_pieces_are_whose() -> None:
    layout = Layout.of(load("connect_four"))
    facts = [parse_term("(disc 1 1 first)"), parse_term("(disc 2 1 second)")]
    pictures = {}
    for encoding, colours in (("utf-8", False), ("ascii", True)):
        screen = Screen(io.StringIO(), io.StringIO())
        screen.show(*draw(layout.picture(facts).to_json(), encoding, colours=colours))
        assert isinstance(screen.console.file, io.StringIO)
        pictures[encoding] = screen.console.file.getvalue()
    assert "●f │ ◉s" in pictures["utf-8"]
    assert pictures["ascii"].isascii()
    assert "first | second" in pictures["ascii"]


def test_an_invalid_move_gets_a_suggestion_and_another_prompt() -> None:
    result = play(*KUHN, typed="chekc\n99\ncheck\n")
    assert "chekc is not one of your 2 moves. Did you mean check?" in result.stdout
    assert "99 is not one of your 2 moves." in result.stdout
    assert "In turn 2 you played check" in result.stdout


def test_rules_and_history_can_be_asked_for() -> None:
    result = play(*TIC_TAC_TOE, typed="history\nquit\n")
    assert "Nothing has happened yet." in result.stdout
    result = play(*KUHN, typed="Rules\nHistory\nquit\n")
    assert "random may (deal ?c1 ?c2) if (control random) is true" in result.stdout
    assert "\n  whoever is not to act: noop\n" in result.stdout
    assert result.stdout.count("In turn 1 you played noop and saw (dealt") == 2


@pytest.mark.parametrize("name", ["?", "Help"])
def test_help_explains_everything_that_the_prompt_offers(name: str) -> None:
    result = play(*KUHN, typed=f"{name}\nquit\n")
    offered = re.findall(r"Your move \(number or text; (.*?)\):", result.stdout)[0].split(", ")
    explained = result.stdout.split("quit):")[1]
    assert offered[0] == "help"
    assert [word for word in offered[1:] if not re.search(rf"^{word} +\w", explained, re.M)] == []
    assert "random may" not in explained


def test_a_match_of_programs_is_shown_turn_by_turn() -> None:
    players = ("--player", "xplayer=legal", "--player", "oplayer=legal")
    result = play("tic_tac_toe", *players, typed="")
    assert result.exit_code == 0
    shown, _, scores = result.stdout.partition("tic_tac_toe: 1 match, seed 0")
    turns = shown.split("\nTurn ")
    assert turns[0].startswith("At the start")
    assert [turn.partition("\n")[0] for turn in turns[1:]] == [str(n) for n in range(1, 8)]
    assert [turn.count("✕x") + turn.count("○o") for turn in turns] == list(range(8))
    assert "xplayer  (mark 1 1)" in turns[1]
    assert "100.00" in scores


def test_percepts_are_shown_with_the_role_that_has_them() -> None:
    players = ("--player", "player1=legal", "--player", "player2=legal")
    result = play("kuhn_poker", *players, typed="")
    first = result.stdout[result.stdout.index("Turn 1") : result.stdout.index("Turn 2")]
    saw = dict(re.findall(r"(player\d) +noop +(\(dealt \w+\))", first))
    assert set(saw) == {"player1", "player2"}
    assert saw["player1"] != saw["player2"]


def test_several_matches_are_not_shown_turn_by_turn() -> None:
    players = ("--player", "player1=legal", "--player", "player2=legal")
    assert "Turn 1" not in play("kuhn_poker", *players, "--matches", "2", typed="").stdout


def test_a_person_who_is_always_late_has_not_failed() -> None:
    read, write = os.pipe()
    with os.fdopen(read) as source, os.fdopen(write, "w"):
        args = [*KUHN, "--play-clock", "0.05", "--backend", "prolog"]
        result = CliRunner().invoke(main, ["play", *args], input=source)
    assert "you play a random legal move" in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(("typed", "code"), [("quit\n", 0), ("check\n", 1), ("", 1)])
def test_person_who_leaves_ends_the_match_and_the_series(
    typed: str, code: int, tmp_path: Path
) -> None:
    result = play(*KUHN, "--matches", "3", "--record", str(tmp_path), typed=typed)
    assert result.exit_code == code
    assert result.stdout.endswith("You left; the match ends here.\n")
    assert result.stderr == ""
    (path,) = tmp_path.glob("*.json")
    record = read_record(path)
    assert record.error == "player1 left the match"
    assert set(record.goals.values()) == {None}
    assert len(record.turns) == (3 if typed == "check\n" else 1)


def test_json_is_alone_on_standard_output() -> None:
    result = play(*KUHN, "--json", typed="2\n1\n")
    report = json.loads(result.stdout)
    assert report["matches"][0]["seed"] == 3
    assert report["matches"][0]["errors"] == []
    assert "you are player1" in result.stderr


def test_two_people_share_a_screen_one_after_the_other() -> None:
    args = ("kuhn_poker", "--player", "player1=human", "--player", "player2=human")
    result = play(*args, typed="\ncheck\n\n\n")
    assert "player1 is to move. Press Enter." in result.stdout
    assert "player2 is to move. Press Enter." in result.stdout
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", "2"), "leave out --jobs"),
        (("--out", "results"), "leave out --out"),
        (("--scheduler", "tcp://localhost:1"), "leave out --scheduler"),
    ],
)
def test_people_play_in_this_terminal_only(options: tuple[str, ...], message: str) -> None:
    result = play(*KUHN, *options, typed="")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(("player", "waits"), [("mcts", True), ("legal", False)])
def test_a_person_is_told_who_prepares(player: str, waits: bool) -> None:
    """Else nothing would be shown until the start clock is over."""
    players = ("--player", "xplayer=human", "--player", f"oplayer={player}")
    clocks = ("--play-clock", "60", "--start-clock", "1")
    result = play("tic_tac_toe", *players, *clocks, typed="")
    message = f"{player} may prepare for oplayer for 1 s (--start-clock).\n"
    assert (message in result.stdout[: result.stdout.index("Turn 1: ")]) == waits


def test_line_that_does_not_come_in_time_is_too_late() -> None:
    read, write = os.pipe()
    with os.fdopen(read) as source, os.fdopen(write, "w") as sink:
        screen = Screen(io.StringIO(), source)
        with pytest.raises(TimeIsUpError):
            screen.ask("?", time.monotonic() + 0.05)
        sink.write("one\ntw")
        sink.flush()
        assert screen.ask("?", time.monotonic() + 5) == "one"
        with pytest.raises(TimeIsUpError):
            screen.ask("?", time.monotonic() + 0.05)
        sink.write("o\nthree")
        sink.close()
        assert [screen.ask("?"), screen.ask("?")] == ["two", "three"]
        with pytest.raises(EOFError):
            screen.ask("?")


def test_clock_runs_and_ctrl_c_leaves_at_a_terminal() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "match_runner", "play", *TIC_TAC_TOE, "--play-clock", "2"]
    process = subprocess.Popen(
        [*command, "--backend", "prolog"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "dumb"},
        start_new_session=True,
        preexec_fn=_at_a_terminal,
    )
    os.close(theirs)
    try:
        screen = _Screen(ours)
        screen_text = screen.until("Time is up: you play a random legal move.")
        assert "1 s. " in screen_text or "2 s. " in screen_text
        screen.until("Turn 3: you are xplayer")
        screen.until("history, quit):")
        os.write(ours, b"\x03")
        screen.until("You left; the match ends here.")
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _at_a_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may ignore interrupts


class _Screen:
    """What appears at a terminal, piece by piece."""

    def __init__(self, file: int) -> None:
        self._file, self._unread = file, ""

    def until(self, text: str) -> str:
        """Read on to a text that is to come; what came before it."""
        until_s = time.monotonic() + 60
        while text not in self._unread:
            left_s = until_s - time.monotonic()
            assert left_s > 0, self._unread
            if select.select([self._file], [], [], left_s)[0]:
                try:
                    self._unread += os.read(self._file, 10_000).decode("utf-8", "replace")
                except OSError:  # whoever wrote has ended
                    assert text in self._unread, self._unread
        # One piece may hold more: on a busy machine all that follows.
        text_before, _, self._unread = self._unread.partition(text)
        return text_before
