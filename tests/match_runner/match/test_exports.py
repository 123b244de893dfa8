"""Records in other formats, and logs of the server, as other programs would read them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from ggp.gdl import Compound, parse_term
from ggp.gdl.normalize import load
from ggp.machine.games import load_program
from ggp.protocol.retelling import LOG_FULL
from ggp.server.match_log import MatchLog
from match_runner.archives import DOCTYPE, EXPORTS, dresden_xml, tiltyard_json
from match_runner.cli import main
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord, check_record, read_record, write_record
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up
from match_runner.remote.wire import RemoteSide
from tests.match_runner.support import Script, arena_of, script_arena
from tests.support.games import MODEST_GAMES, build_here, path_of_shared
from tests.support.plain.letter_case import rules_of, terms_of
from tests.support.plain.reference import Reference, value

pytestmark = pytest.mark.usefixtures("compiled")

REMOTE = RemoteSide("tourn.bomb.1", "gdl2", 30, True)


@cache
def recorded(game: str) -> MatchRecord:
    return play_match(arena_of(game), 3, Conditions(max_turns=60))


@cache
def states_of(game: str) -> list[tuple[str, ...]]:
    return check_record(recorded(game), load(game))


def scripted(*moves: str | Exception) -> MatchRecord:
    return play_match(script_arena("exploding_bomb", agent=Script(moves)), 0)


def exported(record: MatchRecord) -> tuple[ElementTree.Element, Any]:
    states = check_record(record, load("exploding_bomb"))
    return ElementTree.fromstring(dresden_xml(record, states)), json.loads(
        tiltyard_json(record, states, {})
    )


def texts(match: ElementTree.Element, path: str) -> list[str | None]:
    return [element.text for element in match.findall(path)]


def term_of(element: ElementTree.Element) -> str:
    """The term that a `fact` or `arg` element stands for, in lower case."""
    if not len(element):
        return (element.text or "").lower()
    name = (element[0].text or "").lower()
    args = [term_of(arg) for arg in element[1:]]
    return f"({name} {' '.join(args)})" if args else name


# ---------------------------------------------------------------- Dresden


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_dresden_xml_tells_the_whole_match(game: str) -> None:
    record, states = recorded(game), states_of(game)
    text = dresden_xml(record, states)
    assert text.startswith(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE match SYSTEM "{DOCTYPE}">'
    )
    match = ElementTree.fromstring(text)
    assert match.tag == "match"
    assert texts(match, "role") == list(record.roles)
    assert len(match.findall("player")) == len(record.roles)
    steps = match.findall("history/step")
    assert [step.findtext("step-number") for step in steps] == [
        str(number) for number in range(1, 1 + len(record.turns))
    ]
    for step, turn in zip(steps, record.turns, strict=True):
        moves = [move.text or "" for move in step.findall("move")]
        assert moves == [turn.joint_move[role].upper() for role in record.roles]
    assert [term_of(fact) for fact in match.findall("state/fact")] == list(states[-1])
    if record.error is None:
        assert texts(match, "scores/reward") == [f"{record.goals[role]:g}" for role in record.roles]


def test_dresden_xml_has_the_elements_in_the_order_of_the_controller() -> None:
    record = replace(scripted("noop", "ask", "(cut red)"), remote=REMOTE, times_s=(1, 2, 3, 4.5))
    match, _ = exported(record)
    assert [element.tag for element in match] == [
        *("match-id", "sight-of", "role", "role", "player", "player", "timestamp", "startclock"),
        *("history", "scores", "state"),
    ]
    assert match.findtext("match-id") == "tourn.bomb.1"
    assert match.findtext("sight-of") == "RANDOM"
    assert texts(match, "player") == ["SCRIPT", "RANDOM"]
    assert match.findtext("timestamp") == "4500"
    assert match.findtext("startclock") == "30"


def test_a_match_that_was_broken_off_has_a_play_clock_and_no_scores() -> None:
    record = replace(scripted("noop", "ask", "(cut red)"), error="gone", play_clock_s=10)
    match, tiltyard = exported(record)
    assert match.findtext("playclock") == "10"
    assert match.find("scores") is None
    assert (tiltyard["isCompleted"], tiltyard["isAborted"]) == (False, True)
    assert "goalValues" not in tiltyard


def test_xml_is_well_formed_whatever_the_texts_are() -> None:
    record = replace(scripted("noop", "ask", "(cut red)"), players={"agent": "<&\x1b\x00]]>"})
    match, _ = exported(record)
    assert texts(match, "player")[0] == "<&  ]]>"


# ---------------------------------------------------------------- Tiltyard


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_tiltyard_json_tells_the_whole_match(game: str) -> None:
    record, states = recorded(game), states_of(game)
    match = json.loads(tiltyard_json(record, states, {}))
    assert match["gameRoleNames"] == list(record.roles)
    assert match["moves"] == [[t.joint_move[r] for r in record.roles] for t in record.turns]
    assert len(match["states"]) == len(match["stateTimes"]) == 1 + len(record.turns)
    for text, state in zip(match["states"], states, strict=True):
        assert text.startswith("( ")
        term = parse_term(f"(state{text[1:]}")
        assert isinstance(term, Compound)
        assert tuple(map(str, term.args)) == state
    assert match["stateTimes"] == sorted(match["stateTimes"])
    assert match["startTime"] == match["stateTimes"][0] > 1_600_000_000_000
    assert match["isCompleted"] == (record.error is None)
    if record.error is None:
        assert match["goalValues"] == [record.goals[role] for role in record.roles]
    assert len(match["errors"]) == 1 + len(record.turns)
    assert {error for errors in match["errors"] for error in errors} <= {""}


def test_tiltyard_json_has_the_fields_ggp_base_reads() -> None:
    record = replace(scripted("noop", "ask", "(cut red)"), remote=REMOTE, play_clock_s=15)
    _, match = exported(record)
    kinds = {
        **dict.fromkeys(("matchId", "randomToken", "gameMetaURL"), str),
        **dict.fromkeys(("startTime", "startClock", "playClock", "previewClock"), int),
        **dict.fromkeys(("isCompleted", "isAborted", "scrambled"), bool),
        **dict.fromkeys(("states", "moves", "stateTimes", "errors", "goalValues"), list),
        **dict.fromkeys(("playerNamesFromHost", "isPlayerHuman", "gameRoleNames"), list),
    }
    assert {name: type(value) for name, value in match.items()} == kinds
    assert (match["matchId"], match["startClock"], match["playClock"]) == ("tourn.bomb.1", 30, 15)
    assert len(match["randomToken"]) == 32
    assert match["playerNamesFromHost"] == ["script", "random"]
    assert match["scrambled"] is True


def test_tiltyard_errors_name_what_cost_a_move() -> None:
    record = scripted("noop", "sing", ValueError("gone"))
    kinds = ["late", "unreachable", "illegal", "raised", "fallback"]
    expected = ["TO", "CE", "IL sing", "CE", ""]
    _, match = exported(record)
    assert match["errors"] == [["", ""], ["", ""], ["IL sing", ""], ["CE", ""]]
    for kind, error in zip(kinds, expected, strict=True):
        turn = record.turns[1]
        fault = replace(turn.faults[0], kind=kind)
        changed = (record.turns[0], replace(turn, faults=(fault,)), record.turns[2])
        _, match = exported(replace(record, turns=changed))
        assert match["errors"][2][0] == error


def test_troubles_at_the_start_cost_no_move() -> None:
    record = scripted("noop", "sing", "(cut red)")
    first = replace(record.turns[0], faults=(replace(record.turns[1].faults[0], kind="late"),))
    _, match = exported(replace(record, turns=(first, *record.turns[1:])))
    assert match["errors"][1] == ["", ""]


def test_an_old_record_without_times_is_exported(tmp_path: Path) -> None:
    record = replace(scripted("noop", "ask", "(cut red)"), times_s=())
    match, tiltyard = exported(record)
    assert tiltyard["stateTimes"] == [0, 0, 0, 0]
    assert match.findtext("timestamp") == "0"
    assert match.findtext("startclock") == "0"
    assert str(match.findtext("match-id")).startswith("match.0.")


# ---------------------------------------------------------------- letter case

MIXED = """; Names in Mixed Case
(role xPlayer) (role oPlayer)
(init (Step 1)) (Succ 1 2) (Succ 2 3) (Item Apple) (Item bigPear)
(<= (legal ?p (Take ?Thing)) (role ?p) (Item ?Thing))
(<= (next (Step ?y)) (true (Step ?x)) (Succ ?x ?y))
(<= (next (Holds ?p ?thing)) (does ?p (Take ?thing)))
(<= terminal (true (Step 3)))
(<= (goal xPlayer 100) (true (Holds xPlayer Apple)))
(<= (goal xPlayer 30) (not (true (Holds xPlayer Apple))))
(<= (goal oPlayer 50) (true (Step ?x)))
"""

IN_MIXED_CASE = [
    f"gdl1/{name}.kif"
    for name in (
        *("blockerSerial", "blocksWorldSerial", "breakthroughSmall", "connectFour", "lightsOn"),
        *("factoringEasyTurtleBrain", "lightsOnParallel", "pentago", "ticTacToeLargeSuicide"),
        "tictactoe2",
    )
]


def require_exported_as_spelled(path: Path, folder: Path) -> None:
    """Play the beginning of a match, export it, and follow the export with the text of the rules,
    read by a program to which names in another letter case are other names; then import it."""
    program = load_program(str(path))
    machines = (build_here(program, "prolog"),) * (1 + len(program.roles))
    arena = set_up(str(path), program, dict.fromkeys(program.roles, "random"), machines)
    record = play_match(arena, 0, Conditions(max_turns=3))
    export = folder / "match.json"
    exported = run(
        "export",
        str(write_record(record, folder)),
        "--to",
        "tiltyard-json",
        "--out",
        str(export),
    )
    assert exported.exit_code == 0, exported.output
    match = json.loads(export.read_text())
    game = Reference(rules_of(path.read_text()), lambda move: terms_of(move)[0])
    assert tuple(match["gameRoleNames"]) == game.roles
    state = game.initial()
    for state_text, moves in zip(match["states"], [*match["moves"], None], strict=True):
        assert {value(term) for term in terms_of(state_text.strip()[1:-1])} == state
        if moves is not None:
            joint = dict(zip(game.roles, moves, strict=True))
            assert all(move in game.legal(state, role) for role, move in joint.items())
            state = game.step(state, joint).state
    reimported = run("import", str(export), "--game", str(path), "--out", str(folder / "again"))
    assert reimported.exit_code == 0, reimported.output
    read = read_record(folder / "again" / "match.json")
    assert [turn.joint_move for turn in read.turns] == [turn.joint_move for turn in record.turns]


def test_names_are_exported_as_the_rules_spell_them(tmp_path: Path) -> None:
    path = tmp_path / "mixedCase.kif"
    path.write_text(MIXED)
    require_exported_as_spelled(path, tmp_path)


@pytest.mark.verify
@pytest.mark.parametrize("name", IN_MIXED_CASE)
def test_names_of_real_rulesheets_are_exported_as_spelled(name: str, tmp_path: Path) -> None:
    require_exported_as_spelled(Path(path_of_shared(name)), tmp_path)


# ---------------------------------------------------------------- the command


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def test_the_command_prints_or_writes(tmp_path: Path) -> None:
    path = str(write_record(recorded("exploding_bomb"), tmp_path))
    for name in EXPORTS:
        printed = run("export", path, "--to", name)
        assert printed.exit_code == 0, printed.output
        out = tmp_path / name
        assert run("export", path, "--to", name, "--out", str(out)).stdout == ""
        assert out.read_text() == printed.stdout
    assert ElementTree.fromstring((tmp_path / "dresden-xml").read_text()).tag == "match"
    assert json.loads((tmp_path / "tiltyard-json").read_text())["isCompleted"] is True


def test_misuse_of_export_is_one_line(tmp_path: Path) -> None:
    record = recorded("exploding_bomb")
    path = str(write_record(record, tmp_path))
    missing = str(write_record(replace(record, game="gone", seed=77, rules=""), tmp_path))
    wrong = str(write_record(replace(record, goals={"agent": 1, "random": 0}, seed=78), tmp_path))
    for args, code, message in (
        ((path, "--to", "pgn"), 2, "Invalid value for '--to'"),
        ((path,), 2, "Missing option '--to'"),
        ((missing, "--to", "dresden-xml"), 2, "unknown game 'gone'"),
        ((wrong, "--to", "dresden-xml"), 1, "the rules give agent"),
        ((path, "--to", "dresden-xml", "--out", f"{path}/x"), 2, "cannot write"),
    ):
        result = run("export", *args)
        assert result.exit_code == code
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert message in result.stderr


# ---------------------------------------------------------------- logs of the server


def write_log(folder: Path) -> Path:
    log = MatchLog(folder, "m/1")
    log.begin(
        match="m/1", role="agent", player="hyperplay2", seed=5, start_clock_s=30, play_clock_s=10,
        version="1.0",
    )  # fmt: skip
    log.write(
        "received", text="(START m/1 agent ((role agent) " + "x " * 500 + ") 30 10)", peer="a"
    )
    log.write("sent", text="ready", seconds=0.01)
    log.write("worker", worker="thinker", what="started", pid=7, text="")
    log.write("received", text="(PLAY m/1 NIL)", peer="a")
    values = [
        {"move": "ask", "value": 90.0, "stderr": 1.0, "visits": 9},
        {"move": "[red]wait", "value": None, "stderr": None, "visits": 0},
    ]
    log.write(
        "decision", turn=0, move="ask", source="thinker", final=False, values=values,
        particles=2, exact=True, states_visited=1234, seconds=0.5, fault=None,
    )  # fmt: skip
    log.write("sent", text="ASK", seconds=9.2, turn=0)
    log.write(
        "decision", turn=1, move="noop", source="last resort", final=True, values=None,
        particles=None, exact=None, states_visited=None, seconds=None, fault="the worker is gone",
    )  # fmt: skip
    log.write("note", text="odd \x1b[31m message")
    log.write("said", worker="thinker", level="warning", text="slow")
    log.write("unheard", what="a later version")
    log.write("end", why="stop")
    log.close()
    assert log.path is not None
    return log.path


def test_replay_shows_the_log_of_a_server(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    result = run("replay", str(path))
    assert result.exit_code == 0, result.output
    for text in (
        "m/1, role agent",
        "player: hyperplay2, seed 5",
        "< (PLAY m/1 NIL)",
        "> ASK  (after 9.20 s)",
        "turn 1: ask (thinker, best so far; 2 particles, all; 1234 states)",
        "90.0 ± 1.0",
        "[red]wait",
        "turn 2: noop (last resort), fallback: the worker is gone",
        "! odd",
        "thinker started",
        "thinker: slow",
        "the match is over: stop",
    ):
        assert text in result.stdout
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 250
    printed = json.loads(run("replay", str(path), "--json").stdout)
    assert [event["event"] for event in printed][:3] == ["begin", "received", "sent"]


def test_replay_counts_particles_in_words(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    path.write_text(path.read_text().replace('"particles": 2', '"particles": 1'))
    assert "; 1 particle, all; 1234 states)" in run("replay", str(path)).stdout


def test_a_log_that_is_full_does_not_say_that_the_match_is_over(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    path.write_text(path.read_text().replace('"why": "stop"', f'"why": "{LOG_FULL}"'))
    result = run("replay", str(path))
    assert "the log is full" in result.stdout
    assert "the match is over" not in result.stdout


def test_a_log_that_was_cut_off_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    result = run("replay", str(path))
    assert result.exit_code == 0
    assert "thinker: slow" in result.stdout
    assert "the match is over" not in result.stdout


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "does not begin like the log of a match"),
        ('{"t": 1, "event": "end"}\n', "does not begin like the log of a match"),
        ('{"t": 1, "event": "begin", "format": 9}\n', "format 9 is not known"),
        ("nonsense\n", "line 1 is not JSON"),
        ("[1]\n", "line 1 must be an object with the field `event`"),
        ('{"event": "begin"}\n', "line 1 must have the number `t`"),
        ('{"t": 0, "event": "begin", "format": 1}\n{"t": 0, "event": "decision", "particles": 1}\n',
         "field decision.move is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_log_is_a_one_line_error(data: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(data)
    result = run("replay", str(path))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
