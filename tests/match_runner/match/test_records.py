"""Records: there and back, malformed files, and checking against the rules."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ggp.errors import ConfigError, MatchError, ResultsError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.run.clocks import Clock
from match_runner.match.records import (
    MatchRecord,
    check_record,
    make_folder,
    read_record,
    record_from_json,
    record_name,
    rules_of,
    write_record,
)
from match_runner.match.referee import play_match
from match_runner.match.views import clock_notes, show_record
from tests.match_runner.support import Script, arena_of, script_arena
from tests.support.games import MODEST_GAMES


def recorded(game: str = "exploding_bomb", seed: int = 3) -> MatchRecord:
    role = load(game).roles[0]
    return play_match(arena_of(game, f"{role}=hyperplay:n=2"), seed)


def faulty() -> MatchRecord:
    player = Script(["noop", ValueError("none"), "(cut green)"])
    return play_match(script_arena("exploding_bomb", agent=player), 0)


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_a_record_reads_back_as_it_was_written(game: str, tmp_path: Path) -> None:
    record = recorded(game)
    assert read_record(write_record(record, tmp_path)) == record
    assert record.rules == load(game).source.text
    check_record(record, rules_of(record))


def test_a_record_with_faults_reads_back(tmp_path: Path) -> None:
    record = faulty()
    assert len(record.errors) == 2
    assert read_record(write_record(record, tmp_path)) == record


def test_a_record_says_its_format_and_holds_terms_only(tmp_path: Path) -> None:
    data = json.loads(write_record(recorded(), tmp_path).read_text())
    assert data["format"] == 3
    assert data["rules"] == load("exploding_bomb").source.text
    assert data["digest"] == load("exploding_bomb").digest
    assert data["turns"][0]["joint_move"]["agent"] == "noop"
    assert data["turns"][1]["decisions"]["agent"]["values"][0]["move"] == "ask"
    assert isinstance(data["goals"]["agent"], int)


def test_records_of_the_format_before_are_still_read() -> None:
    record = recorded()
    data = json.loads(json.dumps(record.to_json()))
    data["format"] = 2
    del data["rules"]
    read = record_from_json(data)
    assert read == replace(record, rules="")
    assert read.to_json()["format"] == 3
    check_record(read, rules_of(read))  # the game is at hand


def test_a_record_says_which_clock_it_was() -> None:
    record = replace(recorded(), play_clock_s=2.0, clock=Clock.CPU)
    data = json.loads(json.dumps(record.to_json()))
    assert data["clock"] == "cpu"
    assert record_from_json(data) == record
    assert record_name(record) != record_name(replace(record, clock=Clock.WALL))
    title = next(iter(show_record(record)))
    assert str(title) == f"exploding_bomb, seed 3, on {record.backend}, play clock 2 s (CPU time)"
    del data["clock"]  # as records were
    assert record_from_json(data).clock is Clock.WALL
    data["clock"] = "sand"
    with pytest.raises(MatchError, match="field clock must be one of wall, cpu"):
        record_from_json(data)


def test_people_and_remote_players_are_reported_to_use_the_wall_clock() -> None:
    for player in ("http://localhost:9147", "human"):
        (line,) = clock_notes(Clock.CPU, ("random", player))
        assert str(line) == "the wall clock limits remote players and people"
        assert not list(clock_notes(Clock.WALL, ("random", player)))
    assert not list(clock_notes(Clock.CPU, ("random", "auto")))


def test_a_record_is_checked_without_its_rulesheet_at_hand(tmp_path: Path) -> None:
    record = replace(recorded(), game="gone/away.gdl")
    read = read_record(write_record(record, tmp_path))
    check_record(read, rules_of(read))
    assert rules_of(read).digest == record.digest
    with pytest.raises(ConfigError, match=r"unknown game 'gone/away\.gdl'"):
        rules_of(replace(read, rules=""))


def test_the_name_of_a_game_in_a_record_has_no_file_read(tmp_path: Path) -> None:
    record = play_match(arena_of("kuhn_poker"), 0)
    secret = tmp_path / "secret"
    secret.write_text("something: nobody else's business")
    with pytest.raises(ConfigError, match="we do not open files that a record names") as raised:
        rules_of(replace(record, game=str(secret), rules=""))
    assert "business" not in str(raised.value)
    assert rules_of(replace(record, rules="")).digest == record.digest


def test_file_names_tell_matches_apart(tmp_path: Path) -> None:
    record = recorded()
    renamed = replace(record, players={"agent": "legal"})
    assert record_name(record).startswith("exploding_bomb-seed3-")
    assert record_name(record) != record_name(renamed)
    assert record_name(record) == record_name(replace(record, turns=()))
    assert "/" not in record_name(replace(record, game="some/where/bomb.gdl"))


def test_a_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot make .*file"):
        make_folder(tmp_path / "file")


def test_a_file_that_is_not_there_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*: No such file"):
        read_record(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="is a folder; give one of its records: none"):
        read_record(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "\x00\xff", "[" * 100_000, '"text'])
def test_a_file_that_is_not_json_is_a_config_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"bad\.json is not JSON"):
        read_record(path)


def test_decisions_without_probabilities_are_still_read() -> None:
    record = play_match(arena_of("kuhn_poker", "player1=random", "player2=random"), 2)
    data = json.loads(json.dumps(record.to_json()))
    probabilities = [
        decision["probabilities"] for t in data["turns"] for decision in t["decisions"].values()
    ]
    assert {"bet": 0.5, "check": 0.5} in probabilities
    assert record_from_json(data) == record
    for turn in data["turns"]:
        for decision in turn["decisions"].values():
            del decision["probabilities"]
    for turn in record_from_json(data).turns:
        assert all(decision.probabilities is None for decision in turn.decisions.values())


def _without(data: Any, *path: Any) -> Any:
    for key in path[:-1]:
        data = data[key]
    del data[path[-1]]


def _set(data: Any, value: Any, *path: Any) -> Any:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), 1, "format 1 is not known; this version reads 2 and 3"),
        (("format",), True, "field format must be a whole number"),
        (("game",), None, "field game must be a string"),
        (("seed",), 1.5, "field seed must be a whole number"),
        (("roles",), "agent", "field roles must be a list"),
        (("goals", "agent"), "90", "field goals.agent must be a number"),
        (("goals",), {}, "field goals must have the roles agent, random"),
        (("turns", 1), [], "turns[1] must be an object"),
        (("turns", 1, "percepts", "agent"), ["a", 1], "field turns[1].percepts.agent[1] must"),
        (("turns", 0, "joint_move", "x"), "go", "field turns[0].joint_move must have the roles"),
        (("turns", 0, "decisions", "agent", "exact"), 1, "must be true or false"),
        (("players", "nobody"), "legal", "must have the roles agent, nobody"),
    ],
)
def test_a_malformed_field_is_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    data = json.loads(json.dumps(recorded().to_json()))
    _set(data, value, *path)
    with pytest.raises(MatchError) as caught:
        record_from_json(data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [("format",), ("turns",), ("turns", 2, "faults"), ("turns", 1, "decisions", "agent", "values")],
)
def test_a_missing_field_is_named(path: tuple[Any, ...]) -> None:
    data = json.loads(json.dumps(recorded().to_json()))
    _without(data, *path)
    with pytest.raises(MatchError, match=r"field [\w\[\].]+ is missing"):
        record_from_json(data)


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_json_that_is_no_object_is_no_record(data: Any) -> None:
    with pytest.raises(MatchError, match="the file must be an object"):
        record_from_json(data)


# ---------------------------------------------------------------- against the rules


def altered(record: MatchRecord, turn: int, **changes: Any) -> MatchRecord:
    turns = list(record.turns)
    turns[turn] = replace(turns[turn], **changes)
    return replace(record, turns=tuple(turns))


def test_a_record_that_differs_from_the_rules_is_found_out() -> None:
    rules = load("exploding_bomb")
    player = Script(["noop", "ask", "(cut red)"])
    record = replace(
        play_match(script_arena("exploding_bomb", agent=player), 0), digest=rules.digest
    )
    check_record(record, rules)
    wrong = {
        "turn 2 differs from the rules: sing is not legal for agent": altered(
            record, 1, joint_move={"agent": "sing", "random": "noop"}
        ),
        "turn 1 differs from the rules: agent sees nothing, not red": altered(
            record, 0, percepts={"agent": ("red",), "random": ()}
        ),
        "turn 4 differs from the rules: the game is over before it": replace(
            record, turns=(*record.turns, record.turns[2])
        ),
        "the game is not over after turn 2": replace(record, turns=record.turns[:2]),
        "points, not 33": replace(record, goals={"agent": 33, "random": 0}),
    }
    for message, bad in wrong.items():
        with pytest.raises(MatchError) as caught:
            check_record(bad, rules)
        assert message in str(caught.value)


def test_a_record_of_other_rules_says_so() -> None:
    record = recorded()
    with pytest.raises(MatchError, match="the rules have the roles spy1, spy2, the record agent"):
        check_record(record, load("spy_vs_spy"))
    changed = normalize(
        parse(load("exploding_bomb").source.text.replace("ask", "enquire"), "changed")
    )
    changed_record = altered(record, 1, joint_move={"agent": "ask", "random": "noop"})
    with pytest.raises(MatchError, match="the rules have changed since; ask is not legal"):
        check_record(changed_record, changed)


def test_a_match_that_ended_early_is_checked_as_far_as_it_went() -> None:
    record = replace(recorded(), error="stuck")
    check_record(replace(record, turns=record.turns[:1]), load("exploding_bomb"))


def test_a_record_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ResultsError, match=r"cannot write .*: No space left on device"):
        write_record(recorded(), tmp_path)
    assert list(tmp_path.iterdir()) == []
