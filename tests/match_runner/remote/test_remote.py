"""Remote players: the requests they get, and that their faults cost only themselves."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import tomllib
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from ggp.errors import ConfigError
from ggp.gdl import parse, parse_term, to_kif
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import Program
from ggp.gdl.terms import Compound
from ggp.machine import build_machine
from ggp.protocol.messages import Abort, Dialect, Play, Start, Stop
from ggp.protocol.reading import parse_message
from match_runner.cli import main
from match_runner.match.conditions import Conditions
from match_runner.match.records import (
    FAULTS,
    MatchRecord,
    TurnRecord,
    check_record,
    record_from_json,
    write_record,
)
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up
from match_runner.remote.remote_players import (
    Address,
    PostResult,
    RemoteConditions,
    new_match_id,
    parse_address,
    read_reply,
    request_bytes,
)
from match_runner.remote.wire import (
    DRESDEN,
    GGP_BASE,
    KEPT,
    SERVERS,
    ConnectingTime,
    LastTurn,
    NotAMoveError,
    Replacement,
    Scrambler,
    Server,
    Wire,
    names_of,
)
from tests.match_runner.remote.http_player import (
    CLOSING,
    MAX_S,
    SILENT,
    Action,
    Behaviour,
    HttpPlayer,
    free_port,
    http,
    playing,
)
from tests.support import commands
from tests.support.games import GAMES, REPOSITORY
from tests.support.plain.letter_case import rules_of as as_spelled

pytestmark = pytest.mark.usefixtures("compiled")

BOMB = ("NOOP", "ASK", "(CUT RED)")
LONG_S = 60
"""A clock that does not run out in a test."""

NO_GRACE = replace(DRESDEN, start_grace_s=0.0, play_grace_s=0.0)


def conditions(play_clock_s: float = LONG_S, **remote: Any) -> Conditions:
    return Conditions(play_clock_s, remote=RemoteConditions(start_clock_s=LONG_S, **remote))


@cache
def rules_of(game: str) -> Program:
    return load(game)


def match_of(
    game: str, settings: Conditions | None = None, seed: int = 0, **at: str
) -> MatchRecord:
    return play_match(set_up(game, rules_of(game), at), seed, settings or conditions())


def bomb(*moves: Action, settings: Conditions | None = None, **player: Any) -> MatchRecord:
    """A match of the exploding bomb with one remote player."""
    with playing(HttpPlayer(moves or BOMB, **player)) as agent:
        return match_of("exploding_bomb", settings, agent=agent.address)


def moves_of(record: MatchRecord, role: str = "agent") -> list[str]:
    return [turn.joint_move[role] for turn in record.turns]


def faults_of(record: MatchRecord) -> list[tuple[int, str, str]]:
    return [(f.turn, f.role, f.kind) for turn in record.turns for f in turn.faults]


# ---------------------------------------------------------------- what is sent


def test_requests_are_those_of_the_dresden_controller_to_the_byte() -> None:
    with playing(HttpPlayer(BOMB)) as agent:
        record = match_of("exploding_bomb", agent=agent.address)
    assert record.remote is not None
    name = record.remote.match_id
    start, *later_messages = agent.messages
    assert start.startswith(f"(START {name} AGENT ((ROLE AGENT) (ROLE RANDOM) (COLOUR RED) ")
    assert start.endswith(" 60 60)")
    percept = "RED " if record.turns[0].joint_move["random"] == "(arm red)" else "BLUE "
    assert later_messages == [
        f"(PLAY {name} 0 NIL NIL)",
        f"(PLAY {name} 1 NOOP ())",
        f"(PLAY {name} 2 ASK ({percept}))",
        f"(STOP {name} 3 (CUT RED) ())",
    ]
    for request, body in zip(agent.requests, agent.messages, strict=True):
        assert request.decode() == (
            "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: Gamecontroller\r\n"
            "Receiver: 127.0.0.1\r\nContent-type: text/acl\r\n"
            f"Content-length: {len(body)}\r\n\r\n{body}"
        )


def test_lengths_are_counted_in_characters() -> None:
    request = request_bytes("(PLAY é NIL)", Address("localhost", 9147), DRESDEN)
    assert b"Content-length: 12\r\n\r\n" in request
    assert len(request.partition(b"\r\n\r\n")[2]) == 13


MIXED = """
(role xPlayer) (role oPlayer) (INIT (Step 1))
(<= (legal ?p (Take ?thing)) (role ?p) (Item ?thing)) (Item Apple) (Item bigPear)
(<= (next (Step 2)) (does xPlayer ?m)) (<= terminal (true (Step 2)))
(goal xPlayer 100) (goal oPlayer 0)
"""


def test_ggp_base_tells_and_is_told_names_as_the_rules_spell_them() -> None:
    program, settings = normalize(parse(MIXED)), conditions(server=GGP_BASE)
    with playing(HttpPlayer(["(Take bigPear)"])) as x, playing(HttpPlayer(["(take apple)"])) as o:
        at = {"xplayer": x.address, "oplayer": o.address}
        record = play_match(set_up("mixed", program, at), 0, settings)
    assert [turn.submitted["xplayer"] for turn in record.turns] == ["(take bigpear)"]
    assert faults_of(record) == [(0, "oplayer", "illegal")]  # it has no such names
    for player, role in ((x, "xPlayer"), (o, "oPlayer")):
        start, stop = parse_message(player.messages[0]), parse_message(player.messages[-1])
        assert isinstance(start, Start)
        assert isinstance(stop, Stop)
        assert start.role == role
        assert as_spelled(start.rules) == as_spelled(MIXED)
        assert stop.terms is not None
        assert stop.terms[0] == "(Take bigPear)"
        assert stop.terms[1] in ("(Take Apple)", "(Take bigPear)")


SEEN = tomllib.loads((REPOSITORY / "tests/engines/servers/messages.toml").read_text("utf-8"))
"""Messages that real servers sent in matches of some rules, with or without those for `sees`. They
show the turns, the order of percepts, parentheses, and what replaces an illegal move."""


@pytest.mark.parametrize("seen", SEEN["match"], ids=lambda seen: f"{seen['dialect']}")
def test_messages_are_those_of_real_servers(seen: dict[str, Any]) -> None:
    lines = [line for line in SEEN["rules"].splitlines() if seen["sees"] or "sees" not in line]
    program = normalize(parse("\n".join(lines)))
    dialect = Dialect(seen["dialect"])
    settings = conditions(server=SERVERS[seen["server"]], dialect=dialect)
    with playing(HttpPlayer(seen["answers"])) as p, playing(HttpPlayer(["wait"])) as q:
        at = {"p": p.address, "q": q.address}
        record = play_match(set_up("listed", program, at), 0, settings)
    assert record.remote is not None
    for role, player in (("p", p), ("q", q)):
        sent = [" ".join(message.split()) for message in player.messages[1:]]
        sent = [re.sub(r"(?<=\() | (?=\))", "", message) for message in sent]
        expected = [re.sub(r" (?=\))", "", message) for message in seen[role]]
        assert [message.replace(record.remote.match_id, "ID") for message in sent] == expected


def test_ggp_base_requests_name_the_host() -> None:
    settings = conditions(server=GGP_BASE)
    with playing(HttpPlayer(["(mark 1 1)", "noop"])) as x:
        record = match_of("tic_tac_toe", settings, xplayer=x.address, oplayer="random")
    assert record.remote is not None
    name = record.remote.match_id
    assert b"POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: 127.0.0.1\r\nSender:" in x.requests[0]
    assert f"( START {name} xplayer ((role xplayer) " in x.messages[0]
    assert x.messages[1] == f"( PLAY {name} NIL )"
    assert x.messages[2] == f"( PLAY {name} (( mark 1 1 ) noop ) )"
    assert x.messages[-1].startswith(f"( STOP {name} (")


@pytest.mark.parametrize(
    ("dialect", "second"),
    [("gdl", "(PLAY {} ((MARK 1 1) NOOP ))"), ("gdl2-old", "(PLAY {} ({} ))"), ("gdl2", None)],
)
def test_plain_gdl_is_told_in_every_dialect(dialect: str, second: str | None) -> None:
    settings = conditions(dialect=Dialect(dialect))
    with playing(HttpPlayer(["(MARK 1 1)", "NOOP", "(MARK 1 2)", "NOOP"])) as x:
        record = match_of("tic_tac_toe", settings, xplayer=x.address, oplayer="random")
    assert record.remote is not None
    name = record.remote.match_id
    seen = "(DID XPLAYER (MARK 1 1)) (DID OPLAYER NOOP)"
    expected = (second or "(PLAY {} 1 (MARK 1 1) ({} ))").format(name, seen)
    assert x.messages[2] == expected
    appended = "(<= (SEES ?P (DID ?P2 ?M)) (ROLE ?P) (DOES ?P2 ?M)))"
    assert (appended in x.messages[0]) == (dialect != "gdl")


def test_the_joint_move_is_not_sent_where_moves_are_hidden() -> None:
    with pytest.raises(ConfigError, match=r"dialect gdl sends all .* use gdl2 or gdl2-old"):
        Wire(rules_of("kuhn_poker"), DRESDEN, Dialect.GDL)
    with pytest.raises(ConfigError, match="servers like ggp-base do not speak the dialect gdl2"):
        Wire(rules_of("kuhn_poker"), GGP_BASE)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("scramble", [False, True])
def test_rules_that_are_sent_are_the_rules_of_the_game(game: str, scramble: bool) -> None:
    rng = np.random.default_rng(3) if scramble else None
    program = rules_of(game)
    wire = Wire(program, DRESDEN, Dialect.GDL2, rng)
    message = parse_message(wire.start("m1", program.roles[0], 30, 10))
    assert isinstance(message, Start)
    assert (message.match_id, message.start_clock_s, message.play_clock_s) == ("m1", 30, 10)
    rules = message.rules.removesuffix(
        "(<= (SEES ?P (DID ?P2 ?M)) (ROLE ?P) (DOES ?P2 ?M))" if not program.is_gdl2 else ""
    )
    received = normalize(parse(rules, "sent"))
    assert message.role.lower() == received.roles[0]
    if scramble:
        assert set(program.roles) & set(received.roles) <= {"random"}
        assert len(received.rules) == len(program.rules) + (not program.is_gdl2)
    else:
        assert received.digest == program.digest


# ---------------------------------------------------------------- scrambled names


def test_scrambled_names_come_back_and_keywords_stay() -> None:
    rules = parse(rules_of("kriegspiel_king_rook").source.text).rules
    names = names_of(rules)
    scrambler = Scrambler(names, np.random.default_rng(1))
    changed = {name: scrambler.name(name) for name in names}
    assert len(set(changed.values())) == len(names)
    assert not set(changed.values()) & (names | KEPT)
    assert not names & KEPT
    for rule in rules:
        for term in (rule.head, *rule.body):
            assert scrambler.back(scrambler.term(term)) == term
    for text_kept in ("(goal ?1 100)", "(true (not random))", "5x", "-5", "0.5"):
        text = to_kif(scrambler.term(parse_term(text_kept)))
        assert text == text_kept


WORDS = """
(role p) (role random) (legal p (go)) (legal p stay) (legal random (r 1.5)) (base nil) (input p 7)
(<= (next (n ?p)) (true (n ?x)) (k ?x ?p -3 5x)) (<= terminal (true (n 7))) (goal p 10)
"""


KEPT_SOMEWHERE = ("sees", "random", "base", "input", "1.5", "5x")


@pytest.mark.parametrize(
    ("server", "dialect", "sees", "stays"),
    [
        (DRESDEN, Dialect.GDL2_OLD, True, {"1.5", "5x"}),
        (DRESDEN, Dialect.GDL2, True, {"1.5", "5x", "random", "sees"}),
        (GGP_BASE, Dialect.GDL, False, {"base", "input"}),
    ],
)
def test_scrambling_renames_what_real_servers_do(
    server: Server, dialect: Dialect, sees: bool, stays: set[str]
) -> None:
    text = f"{WORDS} (<= (sees p seen) (true (n 7)))" if sees else WORDS.replace("random", "q")
    wire = Wire(normalize(parse(text)), server, dialect, np.random.default_rng(1))
    start = parse_message(wire.start("m", "p", 1, 1))
    assert isinstance(start, Start)
    sent = start.rules.lower()
    for name in [
        "p",
        "n",
        "k",
        "go",
        "stay",
        "r",
        "nil",
        "seen",
        "sees",
        "random",
        "base",
        "input",
        "1.5",
        "5x",
        "?x",
        "?p",
    ]:
        assert (re.search(rf"(?<=[ (]){re.escape(name)}(?=[ )])", sent) is not None) == (
            name in stays
        ), name
    for kept in ("(role ", "(legal ", "(next (", "(<= ", " 7)", " -3 ", "terminal"):
        assert kept in sent
    go = re.findall(r"\(legal \w+ (\(?\w+\)?)\)", sent)[0]
    assert wire.read_move(go) == "go"  # which has its parentheses still
    with pytest.raises(NotAMoveError):
        wire.read_move(go.strip("()"))


def test_plain_gdl_is_scrambled_with_the_rule_that_tells_moves() -> None:
    rules = rules_of("tic_tac_toe")
    wire = Wire(rules, DRESDEN, Dialect.GDL2_OLD, np.random.default_rng(1))
    start = parse_message(wire.start("m", "xplayer", 1, 1))
    play = parse_message(wire.play("m", 1, LastTurn("noop", (), ("noop", "noop"))))
    assert isinstance(start, Start)
    assert isinstance(play, Play)
    appended = parse(start.rules).rules[-1]
    assert appended.head.name not in ("sees", "did")
    assert isinstance(appended.head, Compound)
    told = appended.head.args[1]
    assert play.terms is not None
    assert [parse_term(term).name for term in play.terms] == [told.name] * 2


def test_names_that_were_not_sent_are_no_moves() -> None:
    scrambler = Scrambler({"noop", "cut"}, np.random.default_rng(1))
    assert scrambler.back(parse_term("noop")) is None
    assert scrambler.back(parse_term("(cut 1)")) is None
    assert scrambler.back(parse_term("(unheard 1)")) == parse_term("(unheard 1)")


def test_scrambling_depends_on_the_seed_only() -> None:
    texts = [
        Wire(rules_of("kuhn_poker"), DRESDEN, None, np.random.default_rng(seed)).start(
            "m", "p", 1, 1
        )
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_a_match_with_scrambled_names_is_recorded_in_those_of_the_game() -> None:
    """The player knows only its requests, and plays the first legal move."""

    def first_legal(body: str) -> str:
        message = parse_message(body)
        assert isinstance(message, Play)
        rules = parse_message(agent.messages[0])
        assert isinstance(rules, Start)
        machine = build_machine(normalize(parse(rules.rules, "sent")), "propnet")
        state = machine.initial(1)
        return machine.move_text(int(machine.legal(state, 0)[0][0])).upper()

    with playing(HttpPlayer([first_legal, "DOES_NOT_EXIST"])) as agent:
        record = match_of("exploding_bomb", conditions(scramble=True), agent=agent.address)
    requests = " ".join(agent.messages)
    for word in ("AGENT", "COLOUR", "CUT", "NOOP"):
        assert word not in requests
    for word in ("(ROLE RANDOM)", "(LEGAL RANDOM ", "(INIT (", "(GOAL ", " 90)"):
        assert word in requests
    assert record.turns[0].submitted["agent"] == "noop"
    assert faults_of(record) == [(1, "agent", "illegal"), (2, "agent", "illegal")]
    check_record(record, rules_of("exploding_bomb"))
    assert record.remote is not None
    assert record.remote.scrambled
    assert record_from_json(json.loads(json.dumps(record.to_json()))) == record


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("answer", ["ASK", "ask", " Ask\r\n", "; why\nask"])
def test_moves_are_understood_in_any_spelling(answer: str) -> None:
    record = bomb("noop", answer, "(Cut\n Red)")
    assert moves_of(record) == ["noop", "ask", "(cut red)"]
    assert not faults_of(record)


ANSWERS = tomllib.loads((REPOSITORY / "tests/engines/servers/answers.toml").read_text("utf-8"))
"""What real servers make of answers."""


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("seen", ANSWERS["answer"], ids=lambda seen: seen["texts"][0])
def test_an_answer_is_read_as_real_servers_read_it(seen: dict[str, Any], name: str) -> None:
    where = seen.get("where", "")
    rules = ANSWERS["rules-with-parentheses" if "(go)" in where else "rules"]
    rng = np.random.default_rng(1) if "scrambled" in where else None
    wire = Wire(normalize(parse(rules)), SERVERS[name], None, rng)
    told = parse_message(wire.play("m", 1, LastTurn("noop", (), ("(mark 1 1)",))))
    assert isinstance(told, Play)
    assert told.terms is not None
    taken = seen["gamecontroller" if name == "dresden" else name] == "the move"
    for text in seen["texts"]:
        with nullcontext() if taken else pytest.raises(NotAMoveError):
            move = wire.read_move(told.terms[0].upper() if rng else text)
            assert move == ("noop" if text.startswith(("noop", "; text")) else "(mark 1 1)")


@pytest.mark.parametrize("answer", ["((mark 1 1))", ")noop"])
def test_what_is_no_move_anywhere_is_not_read(answer: str) -> None:
    for server in SERVERS.values():
        with pytest.raises(NotAMoveError):
            Wire(rules_of("tic_tac_toe"), server).read_move(answer)


BAD_ANSWERS: dict[str, Action] = {
    "illegal": "(cut red)",
    "unheard": "(launch missiles)",
    "nil": "NIL",
    "parentheses": "(ask)",
    "open": "(ask",
    "quoted": '"ask"',
    "explained": "((ask) (explanation why))",
    "two": "ask wait",
    "empty": "",
    "variable": "?x",
    "binary": Behaviour(b"HTTP/1.0 200 OK\r\n\r\n\x00\xff\xfe\x80"),
    "no_header": Behaviour(b"ask"),
    "chunked": Behaviour(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nask\r\n0\r\n\r\n"
    ),
    "status": Behaviour(http("ask", status="503 Busy")),
    "huge": Behaviour(http("a" * 2_000_000)),
    "deep": "(" * 5_000 + "a" + ")" * 5_000,
    "escapes": "\x1b[31mask",
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_a_bad_answer_costs_its_move_and_nothing_else(answer: Action) -> None:
    record = bomb("noop", answer, "(cut red)")
    assert faults_of(record) == [(1, "agent", "illegal")]
    assert record.turns[1].joint_move["agent"] in ("ask", "wait")
    assert moves_of(record)[2] == "(cut red)"
    assert record.error is None
    (fault,) = record.turns[1].faults
    assert "\n" not in fault.text
    assert "\x1b" not in fault.text
    assert len(fault.text) < 300
    check_record(record, rules_of("exploding_bomb"))


@pytest.mark.parametrize(
    "data",
    [
        http("ask", length=99),
        http("ask", length=1),
        b"HTTP/1.0 200 OK\n\nask",
        b"HTTP/1.1 200\r\nX: y\r\n\r\n ASK \n",
    ],
)
def test_the_dresden_controller_reads_to_the_end_of_the_stream(data: bytes) -> None:
    assert not faults_of(bomb("noop", Behaviour(data), "(cut red)"))


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (Behaviour(http("noop"), hold=True), []),
        (Behaviour(http("noop", length=99)), ["illegal"]),
        (Behaviour(http("noop", length=2)), ["illegal"]),
        (Behaviour(b"HTTP/1.0 200 OK\r\n\r\nnoop"), []),
    ],
)
def test_ggp_base_reads_as_much_as_the_header_says(data: Behaviour, kinds: list[str]) -> None:
    settings = conditions(server=GGP_BASE)
    with playing(HttpPlayer([data])) as o:
        record = match_of("tic_tac_toe", settings, xplayer="random", oplayer=o.address)
    assert [fault.kind for fault in record.turns[0].faults] == kinds


@given(data=st.binary() | st.binary().map(lambda body: b"HTTP/1.0 200 OK\r\n\r\n" + body))
def test_any_bytes_are_a_reply_of_some_kind(data: bytes) -> None:
    for server in (DRESDEN, GGP_BASE):
        reply = read_reply(data, server, 1.0)
        assert reply.outcome in (PostResult.ANSWERED, PostResult.MALFORMED, PostResult.UNREACHABLE)
        assert isinstance(reply.text, str)


@given(text=st.text() | st.text(alphabet="() aB?;|1\n", max_size=60))
@example("(" * 2_000 + ")" * 2_000)
def test_any_text_is_a_move_or_none(text: str) -> None:
    wire = Wire(rules_of("exploding_bomb"), DRESDEN, None, np.random.default_rng(1))
    with suppress(NotAMoveError):
        move = wire.read_move(text)
        assert to_kif(parse_term(move)) == move


# ---------------------------------------------------------------- clocks


def quick(**changes: Any) -> Conditions:
    """One second for each move."""
    return conditions(1, server=NO_GRACE, **changes)


@pytest.mark.parametrize(
    "answer",
    [SILENT, Behaviour(http("ASK"), hold=True), Behaviour(b"HTTP/1.0 200 OK\r\n", hold=True)],
    ids=["silent", "left_open", "half"],
)
def test_a_late_answer_is_replaced(answer: Behaviour) -> None:
    record = bomb("noop", answer, "(cut red)", settings=quick())
    assert faults_of(record) == [(1, "agent", "late")]
    assert record.turns[1].submitted == {"agent": None}
    assert record.turns[1].decisions == {}
    assert "within 1 s when asked to move" in record.turns[1].faults[0].text


def test_grace_is_added_to_the_clocks() -> None:
    """Two seconds late would be too late; half a second is within the grace."""

    def slow(body: str) -> str:
        time.sleep(1.1)
        return "noop"

    settings = conditions(1, server=replace(DRESDEN, play_grace_s=LONG_S))
    record = bomb(slow, "ask", "(cut red)", settings=settings)
    assert not faults_of(record)
    assert record.turns[0].decisions["agent"].seconds > 1


def test_the_first_or_a_random_legal_move_replaces_a_bad_one() -> None:
    first: set[str] = set()
    replacements: set[str] = set()
    for seed in range(8):
        with playing(HttpPlayer(["noop", "nonsense", "(cut red)"])) as agent:
            for replacement, seen in (
                (Replacement.FIRST, first),
                (Replacement.RANDOM, replacements),
            ):
                agent.__post_init__()
                settings = replace(conditions(), replacement=replacement)
                record = match_of("exploding_bomb", settings, seed, agent=agent.address)
                seen.add(moves_of(record)[1])
    assert len(first) == 1
    assert replacements == {"ask", "wait"}


def test_all_remote_players_are_asked_at_the_same_time() -> None:
    """Each answers only after the other has been asked."""
    from threading import Barrier

    together = Barrier(2, timeout=30)

    def meet(body: str) -> str:
        together.wait()
        return "NOOP"

    with (
        playing(HttpPlayer([meet], start=meet)) as one_player,
        playing(HttpPlayer([meet], start=meet)) as two,
    ):
        record = match_of("kuhn_poker", player1=one_player.address, player2=two.address)
    assert "late" not in [kind for _, _, kind in faults_of(record)]
    assert not together.broken
    assert record.turns[0].faults == ()


def test_a_player_that_does_not_answer_costs_only_itself() -> None:
    with playing(HttpPlayer([SILENT], start=SILENT)) as first, playing(HttpPlayer(["NOOP"])) as two:
        settings = replace(quick(), remote=RemoteConditions(server=NO_GRACE, start_clock_s=1))
        record = match_of("kuhn_poker", settings, player1=first.address, player2=two.address)
    assert record.error is None
    assert set(faults_of(record)) >= {(0, "player1", "late"), (1, "player1", "late")}
    assert record.turns[0].submitted == {"player1": None, "player2": "noop"}
    assert not [fault for fault in record.turns[0].faults if fault.role == "player2"]
    assert "when told of the match" in record.turns[0].faults[0].text


def test_a_player_that_is_unreachable_costs_only_its_own_moves() -> None:
    at = f"http://127.0.0.1:{free_port()}"
    record = match_of("kuhn_poker", player1=at, player2="random")
    kinds = {fault[1:] for fault in faults_of(record)}
    assert kinds == {("player1", "unreachable")}
    assert record.error is None
    assert record.players == {"player1": at, "player2": "random"}
    assert str(record.turns[1].faults[0]) == (
        "turn 2, player1: cannot be connected to: Connection refused when asked to move"
    )
    check_record(record, rules_of("kuhn_poker"))


def test_a_name_that_cannot_be_resolved_is_unreachable() -> None:
    record = match_of("exploding_bomb", agent="http://nobody.invalid:80")
    assert {kind for _, _, kind in faults_of(record)} == {"unreachable"}


def test_a_name_is_looked_up_once_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = []

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        lookups.append(host)
        return [(0, 0, 0, "", (at, 0)) for at in ("127.0.0.2", "127.0.0.1")]  # first: nobody

    monkeypatch.setattr("match_runner.remote.remote_players.socket.getaddrinfo", look_up)
    with playing(HttpPlayer(["noop"])) as first, playing(HttpPlayer(["noop"])) as two:
        addresses = [p.address.replace("127.0.0.1", "player.example") for p in (first, two)]
        record = match_of("kuhn_poker", player1=addresses[0], player2=addresses[1])
    assert "unreachable" not in {kind for _, _, kind in faults_of(record)}
    assert lookups == ["player.example"]


def test_a_name_that_takes_forever_to_look_up_costs_the_time_to_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = threading.Event()

    def hang(*_: object, **__: object) -> None:
        never.wait(60)
        raise OSError

    monkeypatch.setattr("match_runner.remote.remote_players.socket.getaddrinfo", hang)
    hasty = replace(DRESDEN, connect_s=0.05, connect_pool_s=0.0)
    hurried = replace(quick(), remote=RemoteConditions(server=hasty))
    try:
        record = match_of("exploding_bomb", hurried, agent="http://slow.example:80")
    finally:
        never.set()
    assert {kind for _, _, kind in faults_of(record)} == {"unreachable"}


def test_a_connection_that_is_closed_is_a_fault_of_its_own() -> None:
    record = bomb("noop", CLOSING, "(cut red)", start=CLOSING)
    assert faults_of(record) == [(0, "agent", "unreachable"), (1, "agent", "unreachable")]
    assert set(FAULTS) >= {kind for _, _, kind in faults_of(record)}


def test_a_patient_match_waits_for_a_player_that_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("match_runner.remote.remote_players._BUSY_S", 0.01)
    answers = iter(["busy", "BUSY ", "ready"])
    player = HttpPlayer(["noop", "wait", "(cut red)"], start=lambda _: next(answers))
    patient = RemoteConditions(start_clock_s=10, patience_s=60.0)
    with playing(player):
        record = match_of("exploding_bomb", replace(quick(), remote=patient), agent=player.address)
    assert "unreachable" not in {kind for _, _, kind in faults_of(record)}
    starts = [m for m in map(parse_message, player.messages) if isinstance(m, Start)]
    assert len(starts) == 3
    assert len({start.match_id for start in starts}) == 1


def test_any_reply_to_start_is_accepted() -> None:
    assert not faults_of(bomb(start="busy"))
    assert not faults_of(bomb(start=Behaviour(b"garbage")))


def test_connecting_has_two_seconds_and_a_pool() -> None:
    time_left = ConnectingTime(DRESDEN)
    assert time_left.limit_s == 32
    time_left.spend(1.9)
    assert time_left.limit_s == 32
    time_left.spend(12)
    assert time_left.limit_s == 22
    time_left.spend(100)
    assert time_left.limit_s == 2


# ---------------------------------------------------------------- matches


def test_one_address_may_play_several_roles() -> None:
    with playing(HttpPlayer(["NOOP"])) as player:
        record = match_of("kuhn_poker", player1=player.address, player2=player.address)
    starts = [m for m in map(parse_message, player.messages) if isinstance(m, Start)]
    assert len({start.match_id for start in starts}) == 2
    assert sorted(start.role for start in starts) == ["PLAYER1", "PLAYER2"]
    assert record.error is None


def test_local_and_remote_players_play_together() -> None:
    with playing(HttpPlayer(["NOOP", "BET", "NOOP"])) as first:
        at = first.address
        record = match_of("kuhn_poker", conditions(1), player1=at, player2="hyperplay:n=2")
    assert record.states_visited["player1"] == 0
    assert record.states_visited["player2"] > 0
    assert [tuple(turn.submitted) for turn in record.turns] == [("player1", "player2")] * len(
        record.turns
    )


def test_players_are_told_of_a_match_that_is_broken_off() -> None:
    settings = replace(conditions(), max_turns=1)
    with playing(HttpPlayer(["(mark 1 1)"])) as x:
        record = match_of("tic_tac_toe", settings, xplayer=x.address, oplayer="random")
    assert record.error is not None
    assert record.remote is not None
    assert x.messages[-1] == f"(ABORT {record.remote.match_id})"
    with playing(HttpPlayer(["NOOP"])) as first:
        match_of("kuhn_poker", settings, player1=first.address, player2="random")
    assert isinstance(parse_message(first.messages[-1]), Stop)


def test_every_match_has_a_name_of_its_own() -> None:
    names = {new_match_id("games/some game.gdl", RemoteConditions()) for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith("some_game.") for name in names)
    assert new_match_id("", RemoteConditions()).startswith("match.")
    assert new_match_id("chess", RemoteConditions(scramble=True)).startswith("match.")


def test_a_record_says_when_each_state_was_reached() -> None:
    began_s = time.time()
    record = bomb()
    assert len(record.times_s) == 1 + len(record.turns)
    assert list(record.times_s) == sorted(record.times_s)
    assert began_s <= record.times_s[0]


def test_percepts_are_told_in_the_words_of_the_server() -> None:
    news = LastTurn("(cut red)", ("(did agent (cut red))", "boom"), ("(cut red)", "noop"))
    wire = Wire(rules_of("exploding_bomb"), DRESDEN, Dialect.GDL2_OLD)
    assert wire.play("mB", 2, news) == "(PLAY mB ((DID AGENT (CUT RED)) BOOM ))"
    assert wire.play("mB", 0, None) == "(PLAY mB NIL)"


# ---------------------------------------------------------------- addresses and the command


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://localhost:9148", "http://localhost:9148"),
        ("http://example.org", "http://example.org:9147"),
        (" http://127.0.0.1:80/ ", "http://127.0.0.1:80"),
        ("http://[::1]:9", "http://[::1]:9"),
    ],
)
def test_addresses_are_read(text: str, address: str) -> None:
    assert str(parse_address(text)) == address


@pytest.mark.parametrize(
    "text",
    [
        "https://a:1",
        "http://",
        "http://a:x",
        "http://a:0",
        "http://a:99999",
        "http://a/b",
        "ftp://a",
    ],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"is not the address of a player; it must be like http://"
    ):
        parse_address(text)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def test_play_takes_addresses() -> None:
    with playing(HttpPlayer(BOMB)) as agent:
        result = run(
            "play",
            "exploding_bomb",
            "--player",
            f"agent={agent.address}",
            "--json",
            "--play-clock",
            "60",
            "--start-clock",
            "60",
            "--dialect",
            "gdl2-old",
            "--scramble",
            "--replacement",
            "random",
            "--pause",
            "0.01",
        )
    assert result.exit_code == 1, result.output  # it does not know its moves by other names
    report = json.loads(result.stdout)
    assert report["matches"][0]["turns"] == 3
    assert len(report["matches"][0]["errors"]) == 3
    assert "(PLAY " in agent.messages[1]
    assert agent.messages[1].endswith(" NIL)")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "remote players need a clock; give --play-clock SECONDS"),
        (("--play-clock", "1.5"), "remote players need whole seconds, so --play-clock cannot"),
        (("--play-clock", "5", "--dialect", "gdl"), "use gdl2 or gdl2-old"),
        (("--play-clock", "5", "--server", "ggp-base"), "do not speak the dialect gdl2"),
        (("--play-clock", "5", "--dialect", "kif"), "Invalid value for '--dialect'"),
        (("--player", "agent=http://x y"), "the role agent is given two players"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(args: tuple[str, ...], message: str) -> None:
    result = run("play", "exploding_bomb", "--player", "agent=http://127.0.0.1:1", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_interrupt_calls_the_match_off() -> None:
    with playing(HttpPlayer([SILENT])) as x:
        process = commands.start(
            "-m",
            "match_runner",
            "play",
            "tic_tac_toe",
            "--json",
            "--player",
            f"xplayer={x.address}",
            "--play-clock",
            "600",
            "--player",
            "oplayer=random",
        )
        give_up_at = time.monotonic() + MAX_S
        while len(x.requests) < 2 and time.monotonic() < give_up_at:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=MAX_S)
    assert process.returncode == 130
    assert errors == "interrupted after 0 of 1 matches\n"
    assert isinstance(parse_message(x.messages[-1]), Abort)


def test_a_recorded_match_says_how_players_were_spoken_to(tmp_path: Path) -> None:
    with playing(HttpPlayer(BOMB)) as agent:
        record = match_of("exploding_bomb", conditions(scramble=True), agent=agent.address)
    output = run("replay", str(write_record(record, tmp_path)))
    assert output.exit_code == 0
    assert record.remote is not None
    assert (
        f"remote players: match {record.remote.match_id}, dialect gdl2, start clock 60 s, names "
        "scrambled" in output.stdout
    )


def test_turn_records_keep_role_order() -> None:
    turn: TurnRecord = bomb().turns[0]
    assert list(turn.joint_move) == ["agent", "random"]
