"""Matches that other programs recorded become records that fit the rules."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ggp.errors import MatchError
from ggp.gdl.normalize import load
from match_runner.archives import (
    Archived,
    canonical,
    dresden_xml,
    read_json,
    read_xml,
    record_of,
    tiltyard_json,
)
from match_runner.cli import main
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord, check_record, read_record
from match_runner.match.referee import play_match
from match_runner.remote.wire import RemoteSide
from tests.match_runner.support import Script, arena_of, script_arena

pytestmark = pytest.mark.usefixtures("compiled")

GAMES = ("tic_tac_toe", "kuhn_poker", "kriegspiel_king_rook", "number_guessing")

TTT = {
    "matchId": "test.1",
    "startTime": 1380000000000,
    "gameMetaURL": "http://games.example/ticTacToe/v0/",
    "gameRoleNames": ["xplayer", "oplayer"],
    "isCompleted": True,
    "moves": [
        ["( mark 1 1 )", "noop"],
        ["noop", "( mark 2 2 )"],
        ["( MARK 1 2 )", "NOOP"],
        ["noop", "(mark 3 3)"],
        ["( mark 1 3 )", "noop"],
    ],
    "stateTimes": [1380000000000, 1, 2, 3, 4, 1380000005000],
    "errors": [["", ""], ["", "TO"], ["", ""], ["", "IL ( mark 1 1 )"], ["", "CE"]],
    "goalValues": [100, 0],
    "startClock": 30,
    "playClock": 15,
    "playerNamesFromHost": ["Alloy", "Sancho"],
    "scrambled": True,
}


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def written(folder: Path, match: object, name: str = "match.json") -> str:
    path = folder / name
    path.write_text(json.dumps(match))
    return str(path)


def changed(**fields: Any) -> dict[str, Any]:
    return {**TTT, **fields}


def imported(match: object, game: str = "tic_tac_toe") -> MatchRecord:
    return record_of(read_json(json.dumps(match).encode()), game, load(game))


@pytest.mark.parametrize("game", GAMES)
def test_an_exported_match_is_imported_unchanged(game: str) -> None:
    program = load(game)
    record = play_match(arena_of(game), 5, Conditions(max_turns=40))
    record = replace(record, remote=RemoteSide("match.1", "gdl2", 30, False))
    states = check_record(record, program)
    read: list[Archived] = [read_json(tiltyard_json(record, states, {}).encode())]
    if record.error is None:
        read.append(read_xml(dresden_xml(record, states).encode()))
    for archived in read:
        reimported = record_of(archived, game, program)
        check_record(reimported, program)
        assert [t.joint_move for t in reimported.turns] == [t.joint_move for t in record.turns]
        assert [t.percepts for t in reimported.turns] == [t.percepts for t in record.turns]
        assert reimported.goals == record.goals or record.error is not None
        assert (reimported.error is None) == (record.error is None)
        assert {k: v.lower() for k, v in reimported.players.items()} == dict(record.players)
        assert reimported.remote is not None
        assert (reimported.remote.match_id, reimported.remote.start_clock_s) == ("match.1", 30)


def test_a_match_of_an_archive_is_replayed(tmp_path: Path) -> None:
    out = tmp_path / "records"
    result = run("import", written(tmp_path, TTT), "--game", "tic_tac_toe", "--out", str(out))
    assert result.exit_code == 0, result.output
    record = read_record(out / "match.json")
    assert record.players == {"xplayer": "Alloy", "oplayer": "Sancho"}
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    assert (record.play_clock_s, record.times_s[0], record.times_s[-1]) == (15, 1.38e9, 1380000005)
    assert [(f.turn, f.kind) for f in record.faults] == [
        (1, "late"),
        (3, "illegal"),
        (4, "unreachable"),
    ]
    assert [turn.submitted["oplayer"] for turn in record.turns] == [
        "noop",
        None,
        "noop",
        "(mark 1 1)",
        None,
    ]
    output = run("replay", str(out / "match.json"))
    assert output.exit_code == 0
    assert "Alloy" in output.stdout
    exported = run("export", str(out / "match.json"), "--to", "tiltyard-json")
    archive = json.loads(exported.stdout)
    assert (archive["matchId"], archive["goalValues"]) == ("test.1", [100, 0])
    assert [errors[1] for errors in archive["errors"]] == ["", "", "TO", "", "IL (mark 1 1)", "CE"]


def test_fields_may_lack_and_states_may_have_true() -> None:
    short = {"moves": TTT["moves"], "states": ["( ( true (control xplayer) ) )"]}
    record = imported(short)
    assert record.players == dict.fromkeys(("xplayer", "oplayer"), "unknown")
    assert record.times_s == ()
    assert canonical("( TRUE (cell 1) )") == "(cell 1)"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gameRoleNames": ["white", "black"]}, "these are the rules of another game"),
        ({"goalValues": [50, 50]}, "the rules give xplayer 100 points, the file 50"),
        ({"states": ["( (control oplayer) )"]}, r"\(control oplayer\) holds only in the file"),
        ({"moves": [["( mark 1 1 )", "( mark 1 1 )"]]}, "turn 1: .* is not legal for oplayer"),
        ({"moves": [["( mark 1 1 )"]]}, "turn 1: it lacks the move of a role"),
        ({"moves": TTT["moves"][:2]}, "the game is not over after turn 2"),  # type: ignore[index]
        ({"moves": [*TTT["moves"], ["noop", "noop"]]}, "turn 6: the game is over"),  # type: ignore[misc]
        ({"moves": [["((", "noop"]]}, "is not a term"),
        ({"moves": [[1, 2]]}, "the field moves must hold texts"),
        ({"stateTimes": ["now"]}, "the field stateTimes must hold numbers"),
        ({"stateTimes": [float("nan")]}, "the field stateTimes must hold numbers"),
        ({"goalValues": [10**400, 0]}, "the field goalValues must hold numbers"),
        ({"playClock": float("inf")}, "the field playClock must hold numbers"),
        ({"playerNamesFromHost": [1, 2]}, "the field playerNamesFromHost must hold texts"),
        ({"matchId": "\ud800"}, "it is not JSON: .*surrogates"),
        ({"errors": 3}, "the field errors must be a list"),
        ({"states": ["( ) )"]}, "the field states must hold lists of fluents"),
    ],
)
def test_files_that_do_not_fit_the_game_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(MatchError, match=message):
        imported(changed(**fields))


def test_errors_of_the_start_are_those_of_no_turn() -> None:
    """ggp-base writes one entry more than there are turns."""
    record = imported(changed(errors=[["CE", "CE"], *TTT["errors"]]))  # type: ignore[misc]
    assert [(f.turn, f.role) for f in record.faults] == [(at, "oplayer") for at in (1, 3, 4)]


# ---------------------------------------------------------------- several matches in a file

LINE = json.dumps({"url": "http://matches.example/1/", "data": TTT})
BAD = json.dumps(changed(moves=3))
LOST = json.dumps(changed(goalValues=[0, 100]))


def import_archive(folder: Path, text: str, name: str = "old.jsonl") -> tuple[Result, list[str]]:
    """Import an archive; the names of the records are sorted."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    result = run("import", str(path), "--game", "tic_tac_toe", "--out", str(folder / "out"))
    out = folder / "out"
    return result, sorted(file.name for file in out.iterdir()) if out.exists() else []


def test_lines_of_an_archive_hold_a_match_each(tmp_path: Path) -> None:
    result, records = import_archive(tmp_path, f"{LINE}\n\n{json.dumps(TTT)}\n")
    assert (result.exit_code, result.stderr) == (0, "")
    assert records == ["old-1.json", "old-3.json"]
    assert result.stdout.endswith("old-*.json, 2 matches\n")
    for name in records:
        record = read_record(tmp_path / "out" / name)
        check_record(record, load("tic_tac_toe"))
        assert record.goals == {"xplayer": 100, "oplayer": 0}


def test_a_line_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    result, records = import_archive(tmp_path, f"{LINE}\n{LINE[:50]}\n{BAD}\n{LOST}\n[]\n{LINE}")
    assert result.exit_code == 2
    assert records == ["old-1.json", "old-6.json"]
    errors = result.stderr.splitlines()
    assert len(errors) == 4
    for line, place, problem in zip(
        errors,
        ("line 2", "line 3", "line 4", "line 5"),
        (
            "it is not JSON: ",
            "the field moves must be a list",
            "the rules give xplayer 100 points, the file 0",
            "it is not a match of ggp-base",
        ),
        strict=True,
    ):
        assert f"old.jsonl, {place}: {problem}" in line
    result, records = import_archive(tmp_path, f"{LINE[:50]}\n{LINE}\n{LINE}\n", "cut.jsonl")
    assert result.exit_code == 2
    assert "cut.jsonl, line 1: it is not JSON" in result.stderr
    assert records[:2] == ["cut-2.json", "cut-3.json"]


def test_a_list_holds_a_match_each(tmp_path: Path) -> None:
    result, records = import_archive(tmp_path, f"[{LINE},\n{BAD},\n{json.dumps(TTT)}]", "old.json")
    assert result.exit_code == 2
    assert "old.json, match 2: the field moves must be a list" in result.stderr
    assert result.stderr.count("\n") == 1
    assert records == ["old-1.json", "old-3.json"]


def test_json_on_several_lines_is_one_match(tmp_path: Path) -> None:
    for number, text in enumerate(
        (json.dumps(TTT, indent=1), f"\ufeff\n{LINE}", f'{{"data":\n{json.dumps(TTT)}\n}}')
    ):
        result, records = import_archive(tmp_path, text, f"one{number}.json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert records[-1] == f"one{number}.json"


def test_matches_of_one_name_do_not_replace_each_other(tmp_path: Path) -> None:
    lines, single = tmp_path / "a.jsonl", written(tmp_path, TTT, "a-2.json")
    lines.write_text(f"{LINE}\n{LINE}\n")
    options = ("--game", "tic_tac_toe", "--out", str(tmp_path / "o"))
    result = run("import", str(lines), single, *options)
    assert result.exit_code == 2
    assert "two matches would become" in result.stderr


# ---------------------------------------------------------------- traces of the GameController

TRACE = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?><!DOCTYPE gametrace>
<gametrace>
  <game>bomb</game>
  <steps>
    <step nb="1">
      <state><fluent>(round 0)</fluent></state>
      <legal_moves>
        <move role="agent">noop</move>
        <move role="random">(arm blue)</move><move role="random">(arm red)</move>
      </legal_moves>
      <moves><move role="agent">noop</move><move role="random">(arm red)</move></moves>
    </step>
    <step nb="2">
      <state><fluent>(armed red)</fluent><fluent>(round 1)</fluent></state>
      <moves><move role="agent">ask</move><move role="random">noop</move></moves>
    </step>
    <step nb="3">
      <moves><move role="agent">(cut red)</move><move role="random">noop</move></moves>
    </step>
    <step nb="4">
      <terminal/>
      <goal_values>
        <goal_value role="agent">90</goal_value><goal_value role="random">0</goal_value>
      </goal_values>
    </step>
  </steps>
</gametrace>
"""


def bomb_of(trace: str) -> MatchRecord:
    return record_of(read_xml(trace.encode()), "exploding_bomb", load("exploding_bomb"))


def test_a_trace_of_the_controller_is_a_match(tmp_path: Path) -> None:
    path = tmp_path / "bomb.trace.xml"
    path.write_text(TRACE)
    out = tmp_path / "out"
    result = run("import", str(path), "--game", "exploding_bomb", "--out", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    record = read_record(out / "bomb.trace.json")
    check_record(record, load("exploding_bomb"))
    assert [turn.joint_move for turn in record.turns] == [
        {"agent": "noop", "random": "(arm red)"},
        {"agent": "ask", "random": "noop"},
        {"agent": "(cut red)", "random": "noop"},
    ]
    assert record.turns[1].percepts["agent"] == ("red",)
    assert (record.goals, record.error) == ({"agent": 90, "random": 0}, None)
    assert record.players == {"agent": "unknown"}
    exported = run("export", str(out / "bomb.trace.json"), "--to", "tiltyard-json")
    assert json.loads(exported.stdout)["matchId"].startswith("match.0.")


def test_a_trace_that_ends_early_is_a_match_that_was_not_completed() -> None:
    unfinished = TRACE[: TRACE.index('    <step nb="3">')] + "</steps></gametrace>"
    for trace in (unfinished, unfinished.replace("</steps>", '<step nb="3"/></steps>')):
        record = bomb_of(trace)
        assert len(record.turns) == 2
        assert record.error == "the match was not completed"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('nb="3"', 'nb="4"', "step 3 of the trace has the number '4'"),
        ('<move role="random">noop</move>', "", "step 2 of the trace lacks moves of some roles"),
        ('<move role="random">noop', '<move role="agent">noop', "step 2 .* two values for agent"),
        ('goal_value role="random"', 'goal_value role="other"', "goal values of the trace"),
        (">90<", ">many<", "goal_value must be a number, not 'many'"),
        (">90<", ">0<", "the rules give agent 90 points, the file 0"),
        ("(armed red)", "(armed blue)", r"\(armed blue\) holds only in the file"),
        ('role="agent"', 'role="white"', "these are the rules of another game"),
    ],
)
def test_a_trace_that_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(MatchError, match=message):
        bomb_of(TRACE.replace(old, new))


# ---------------------------------------------------------------- XML


FINAL_STATE = """<?xml version="1.0" encoding="ISO-8859-1" standalone="no"?>
<?xml-stylesheet type="text/xsl" href="../view.xsl"?><!DOCTYPE match SYSTEM "http://x.example/d.dtd">
<match>
    <match-id>doors</match-id>
    <sight-of>{sight}</sight-of>
    <role>candidate</role>
    <role>random</role>
    <player>J\xe9R\xd4ME</player>
    <player>RANDOM</player>
    <timestamp>1700000000000</timestamp>
    <startclock>5</startclock>
    <history>
        <step><step-number>1</step-number>{moves}</step>
    </history>
    <state><fact><prop-f>CAR</prop-f><arg>3</arg></fact></state>
</match>
"""
"""A file in the form that the GameController writes: its encoding, stylesheet and spelling."""


def final_state(tmp_path: Path, sight: str, moves: str) -> str:
    path = tmp_path / f"doors-{sight}" / "finalstate.xml"
    path.parent.mkdir()
    text = FINAL_STATE.format(sight=sight, moves=moves)
    path.write_bytes(text.encode("latin-1"))
    return str(path)


def test_the_last_file_of_the_controller_is_named_by_its_folder(tmp_path: Path) -> None:
    moves = "<move>(CHOOSE 2)</move><move>(HIDE 3)</move>"
    path = final_state(tmp_path, "RANDOM", moves)
    archived = read_xml(Path(path).read_bytes())
    assert archived.players == ["J\xe9R\xd4ME", "RANDOM"]
    assert archived.states == {1: ["(CAR 3)"]}
    text = Path(path).read_bytes().replace(b"<state>", b"<!--").replace(b"</state>", b"-->")
    Path(path).write_bytes(text)
    out = tmp_path / "out"
    result = run("import", path, "--game", "monty_hall", "--out", str(out))
    assert result.exit_code == 0, result.output
    record = read_record(out / "doors-RANDOM.json")
    assert record.turns[0].joint_move == {"candidate": "(choose 2)", "random": "(hide 3)"}
    assert record.error == "the match was not completed"


def test_files_without_moves_say_which_has_them(tmp_path: Path) -> None:
    path = final_state(tmp_path, "CANDIDATE", "")
    with pytest.raises(MatchError, match="import the file for RANDOM, which games with"):
        read_xml(Path(path).read_bytes())
    with pytest.raises(MatchError, match="import the JSON that is written beside it"):
        read_xml(b"<match><startClock>2</startClock><herstory/><history/></match>")


def test_aborted_matches_have_no_scores() -> None:
    record = imported(changed(isAborted=True, isCompleted=False, moves=TTT["moves"][:2]))  # type: ignore[index]
    assert record.error == "the match was aborted"
    assert set(record.goals.values()) == {None}


def test_an_archive_never_decides_which_rules_are_read(tmp_path: Path) -> None:
    result = run("import", written(tmp_path, TTT), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "--game GAME" in result.stderr
    assert "http://games.example/ticTacToe/v0/, which is not fetched" in result.stderr
    assert not (tmp_path / "out").exists()


def test_unreadable_files_are_one_line_errors(tmp_path: Path) -> None:
    good = written(tmp_path, TTT)
    bomb = tmp_path / "bomb.xml"
    bomb.write_text('<!DOCTYPE match [<!ENTITY a "aa">]><match><role>&a;</role></match>')
    hidden = tmp_path / "hidden.xml"
    hidden.write_bytes(bomb.read_text().encode("utf-16-le"))
    unread = tmp_path / "unread.xml"
    unread.write_text('<?xml version="1.0" encoding="klingon"?><match/>')
    endless = tmp_path / "endless.xml"
    endless.write_text("<match><role>A</role><startclock>nan</startclock></match>")
    sight = tmp_path / "sight.xml"
    sight.write_text(
        "<match><sight-of>WHITE</sight-of><role>WHITE</role><role>BLACK</role>"
        "<history><step><move>A</move></step></history></match>"
    )
    deep = tmp_path / "deep.xml"
    facts = "<arg><prop-f>F</prop-f>" * 200 + "</arg>" * 200
    deep.write_text(
        f"<match><role>A</role><state><fact><prop-f>P</prop-f>{facts}</fact></state></match>"
    )
    texts = tmp_path / "text.txt"
    texts.write_text("moves")
    for file, message in (
        (bomb, "declares entities"),
        (hidden, "it is not UTF-8"),
        (unread, "unknown encoding: klingon"),
        (endless, "startclock must be a number, not 'nan'"),
        (sight, "the view of WHITE"),
        (deep, "nests deeper"),
        (texts, "neither JSON nor XML"),
        (tmp_path / "no.json", "cannot read"),
        (Path(written(tmp_path, {}, "empty.json")), "it has no field moves"),
    ):
        result = run("import", str(file), "--game", "tic_tac_toe", "--out", str(tmp_path / "o"))
        assert result.exit_code == 2, result.output
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert "give another --out" in run("import", good, "--out", str(tmp_path)).stderr


def test_the_others_are_imported_if_one_cannot_be(tmp_path: Path) -> None:
    good = written(tmp_path, TTT)
    bad = written(tmp_path, changed(goalValues=[0, 100]), "bad.json")
    worse = written(tmp_path, [], "worse.json")
    options = ("--game", "tic_tac_toe", "--out", str(tmp_path / "o"), "--json")
    assert run("import", bad, good, *options).exit_code == 1
    result = run("import", worse, bad, good, *options)
    assert result.exit_code == 2
    assert "worse.json: it is an empty list" in result.stderr
    assert [entry["turns"] for entry in json.loads(result.stdout)] == [5]
    assert "bad.json: the rules give xplayer 100 points, the file 0" in result.stderr


def test_an_illegal_move_of_ours_comes_back_as_one() -> None:
    record = play_match(
        script_arena("exploding_bomb", agent=Script(["noop", "nonsense", "wait"])), 0
    )
    states = check_record(record, load("exploding_bomb"))
    reimported = record_of(
        read_json(tiltyard_json(record, states, {}).encode()),
        "exploding_bomb",
        load("exploding_bomb"),
    )
    assert [f.turn for f in reimported.faults] == [f.turn for f in record.faults]
    assert {f.kind for f in reimported.faults} == {"illegal"}
    assert [t.submitted for t in reimported.turns] == [t.submitted for t in record.turns]
