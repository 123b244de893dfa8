"""Messages are read as they are written, in every dialect, and garbage is refused."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from ggp.gdl import find_game, parse, parse_term, to_kif
from ggp.gdl.normalize import normalize
from ggp.gdl.terms import CONNECTIVES, Compound, Symbol, Term
from ggp.protocol.messages import (
    MAX_CLOCK_S,
    MAX_TURN,
    WIRE_STYLES,
    Abort,
    Dialect,
    Info,
    Message,
    MessageLimits,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
    WireStyle,
    info_reply,
    print_message,
)
from ggp.protocol.reading import parse_message, parse_reply
from ggp.protocol.spelling import canonical, outline
from tests.gdl.syntax.strategies import names
from tests.protocol.doubles import on_one_line
from tests.support.effort import examples
from tests.support.games import GAMES

SEEN_ON_THE_WIRE: dict[str, Message] = {
    "( INFO )": Info(),
    "info": Info(),
    "(ping)": Ping(),
    "( PREVIEW ( ( role x ) ) 30 )": Preview(" ( role x ) ", 30),
    "(PLAY mB 2 NOOP ((DOES CANDIDATE NOOP) (OPEN_DOOR 2) ))": Play(
        "mB", 2, "NOOP", ("(DOES CANDIDATE NOOP)", "(OPEN_DOOR 2)")
    ),
    "(PLAY mB 0 NIL NIL)": Play("mB", 0),
    "(STOP mB 3 SWITCH ((DOES CANDIDATE SWITCH) (CAR 3) ))": Stop(
        "mB", 3, "SWITCH", ("(DOES CANDIDATE SWITCH)", "(CAR 3)")
    ),
    "(PLAY m_plain NIL)": Play("m_plain"),
    "(PLAY m_plain ((DOES CANDIDATE (CHOOSE 1)) ))": Play(
        "m_plain", terms=("(DOES CANDIDATE (CHOOSE 1))",)
    ),
    "(PLAY mv1 ((MARK 1 1) NOOP))": Play("mv1", terms=("(MARK 1 1)", "NOOP")),
    "( PLAY tourn.game.123 (( mark 1 1 ) noop ) )": Play(
        "tourn.game.123", terms=("(mark 1 1)", "noop")
    ),
    "( STOP m (( mark 1 1 ) noop ) )": Stop("m", terms=("(mark 1 1)", "noop")),
    "( ABORT m )": Abort("m"),
}


@pytest.mark.parametrize("text", SEEN_ON_THE_WIRE)
def test_message_seen_on_the_wire_is_read(text: str) -> None:
    assert parse_message(text) == SEEN_ON_THE_WIRE[text]


@pytest.mark.parametrize("text", SEEN_ON_THE_WIRE)
@pytest.mark.parametrize(
    "disturb",
    [
        lambda text: text.replace(" ", "\r\n \t"),
        lambda text: f"\ufeff  {text}\n\n",
        lambda text: f"( {text} )",
        lambda text: f"((({text})))",
        lambda text: text.rstrip(") ") if "(" in text else text,
        lambda text: text + "))",
        lambda text: re.sub(r"(?i)play|stop|info|abort|ping|nil", lambda m: m[0].title(), text),
    ],
    ids=["white space", "margins", "outer list", "outer lists", "not closed", "overclosed", "case"],
)
def test_message_is_read_however_it_is_written(text: str, disturb: object) -> None:
    assert callable(disturb)
    expected = SEEN_ON_THE_WIRE[text]
    message = parse_message(disturb(text))
    if isinstance(expected, Preview):
        assert isinstance(message, Preview)
        message = replace(message, rules=" ".join(message.rules.split()))
        expected = replace(expected, rules=" ".join(expected.rules.split()))
    assert message == expected


@pytest.mark.parametrize("nothing", ["NIL", "nil", "Nil"])
def test_nil_is_unknown_and_an_empty_list_is_empty(nothing: str) -> None:
    assert parse_message(f"(PLAY m {nothing})") == Play("m")
    assert parse_message("(PLAY m ())") == Play("m", terms=())
    assert parse_message(f"(PLAY m 4 {nothing} ( ))") == Play("m", 4, None, ())
    assert parse_message("(PLAY m 4 () NIL)") == Play("m", 4)


def test_start_keeps_the_rules_as_they_were_sent() -> None:
    rules = "(ROLE White)\n(<= (LEGAL ?p (move ?x)) (TRUE ( at ?x )))  "
    start = parse_message(f"(START Match.1 White ({rules}) 30 10)")
    assert start == Start("Match.1", "White", rules, 30, 10)


def test_start_finds_its_clocks_behind_a_rule_that_is_never_closed() -> None:
    start = parse_message("(START m white ((role white) (<= terminal (true x)) 30 10)")
    assert start == Start("m", "white", "(role white) (<= terminal (true x))", 30, 10)


@pytest.mark.parametrize("begin", ["(START m1 white (", "((start  m1 white("])
def test_start_is_read_though_its_rules_have_a_parenthesis_too_many(begin: str) -> None:
    for rules in ("(role white) (<= terminal) (not open)) (legal white a)", "(role white))"):
        message = parse_message(f"{begin}{rules}) 10 5)")
        assert message == Start("m1", "white", rules, 10, 5)


def test_play_that_makes_no_sense_still_asks_for_a_move() -> None:
    assert parse_message("(PLAY m)") == Play("m")
    assert parse_message("(PLAY m noop)") == Play("m")
    assert parse_message("(PLAY m 3 (a b))") == Play("m", 3, None, ("a", "b"))
    assert parse_message("(PLAY m 3 noop (a) and more)") == Play("m", 3, "noop", ("a",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty message"),
        (" ; nothing", "empty message"),
        ("()", "is not a message"),
        ("(HELLO)", "is not a message"),
        ("GET / HTTP/1.0", "is not a message"),
        ("(((((INFO)))))", "is not a message"),
        ("(PLAY)", "must name a match"),
        ("(PLAY (m) NIL)", "must name a match"),
        ("(START m)", "must name our role"),
        ("(START m (white) ((role white)) 1 1)", "must name our role"),
        ("(START m white NIL 1 1)", "rules as one list"),
        ("(START m white () 1 1)", "no rules"),
        ("(START m white ((role white)) 30)", "2 clocks"),
        ("(START m white ((role white)) -1 10)", "a clock of start must be from 0 to"),
        ("(START m white ((role white)) 1e9 10)", "a clock of start must be from 0 to"),
        ("(START m white ((role white)) 30 999999999)", "a clock of start must be from 0 to"),
        (f"(PLAY m {MAX_TURN + 1} noop ())", "beyond the limit"),
        ("(" * 200 + ")" * 200, "nest deeper than the limit of 110"),
        (f"(PLAY m (({'a' * 1001})))", "longer than the limit of 1,000 characters"),
        ("a" * 1_000_001, "longer than the limit of 1,000,000"),
        ("(PLAY m (" + "a " * 20_001 + "))", "more than the limit of 20,000 items"),
    ],
)
def test_malformed_message_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(RemoteProtocolError, match=re.escape(says)) as caught:
        parse_message(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_limits_can_be_set() -> None:
    with pytest.raises(RemoteProtocolError, match="limit of 10"):
        parse_message("(PLAY match NIL)", MessageLimits(chars=10))


symbols = names.filter(lambda name: name.lower() not in ("nil", "(", ")") and "?" not in name)
_functors = symbols.filter(lambda name: name not in CONNECTIVES and name not in ("<=", ":-"))
ground_terms: st.SearchStrategy[Term] = st.recursive(
    st.builds(Symbol, symbols),
    lambda args: st.builds(Compound, _functors, st.lists(args, min_size=1, max_size=3).map(tuple)),
    max_leaves=6,
)
_texts = ground_terms.map(str)
_news = st.none() | st.lists(_texts, max_size=4).map(tuple)
_clocks = st.integers(0, MAX_CLOCK_S)
_rules = st.lists(_texts, min_size=1, max_size=4).map("\n".join)


def messages(dialect: Dialect) -> st.SearchStrategy[Message]:
    """All messages of a dialect."""
    has_turns = dialect is Dialect.GDL2
    turns = st.integers(0, MAX_TURN) if has_turns else st.none()
    last_moves = st.none() | _texts if has_turns else st.none()
    return st.one_of(
        st.just(Info()),
        st.just(Ping()),
        st.builds(Preview, _rules, _clocks),
        st.builds(Start, symbols, symbols, _rules, _clocks, _clocks),
        st.builds(Play, symbols, turns, last_moves, _news),
        st.builds(Stop, symbols, turns, last_moves, _news),
        st.builds(Abort, symbols),
    )


def upper(message: Message) -> Message:
    """A message in upper case, as some servers write it."""
    match message:
        case Preview():
            return replace(message, rules=message.rules.upper())
        case Start():
            return replace(message, role=message.role.upper(), rules=message.rules.upper())
        case Play() | Stop():
            last = message.last_move
            return replace(
                message,
                last_move=None if last is None else last.upper(),
                terms=None if message.terms is None else tuple(t.upper() for t in message.terms),
            )
    return message


@settings(max_examples=examples(40))
@pytest.mark.parametrize("style", WIRE_STYLES.values(), ids=list(WIRE_STYLES))
@given(draws=st.data())
def test_printed_message_is_read_back(style: WireStyle, draws: st.DataObject) -> None:
    message = draws.draw(messages(style.dialect))
    assert parse_message(print_message(message, style)) == (
        upper(message) if style.upper else message
    )


def test_styles_without_turns_cannot_send_one() -> None:
    with pytest.raises(LocalProtocolError, match="send no turn"):
        print_message(Play("m", 3, "noop", ()), WIRE_STYLES["dresden"])
    with pytest.raises(LocalProtocolError, match="send the number of the turn"):
        print_message(Play("m", terms=("noop",)), WIRE_STYLES["gdl2"])


@given(st.text() | st.text(alphabet="()PLAYplaystartinfo ;\n0123?\ufeff\x00\x1c", max_size=60))
def test_garbage_is_read_or_refused_and_nothing_else(text: str) -> None:
    for read in (parse_message, parse_reply):
        with suppress(ProtocolError):
            read(text)


@given(st.binary())
def test_bytes_are_read_or_refused(received: bytes) -> None:
    for encoding in ("latin-1", "utf-8"):
        with suppress(ProtocolError):
            parse_message(received.decode(encoding, "replace"))


@given(ground_terms)
def test_canonical_term_agrees_with_the_parser(term: Term) -> None:
    for text in (str(term), str(term).upper(), f" {str(term).replace('(', '( ')}\n"):
        assert canonical(text) == to_kif(parse_term(text))
    assert canonical(f"(f ({'a'}) (B))") == to_kif(parse_term("(f (a) (B))")) == "(f a b)"


@pytest.mark.parametrize("name", GAMES)
def test_outline_of_a_game_agrees_with_its_program(name: str) -> None:
    rules = find_game(name).read_text(encoding="utf-8")
    program = normalize(parse(rules))
    for text in (rules, rules.upper(), on_one_line(rules)):
        game = outline(text)
        assert (game.roles, game.is_gdl2) == (program.roles, program.is_gdl2)


def test_outline_finds_the_first_spelling_and_gives_it_back() -> None:
    rules = "; (role nobody)\n(ROLE White) (<= (role Green) x) ( role\n black ) (f WHITE ?White)"
    game = outline(rules)
    assert (game.roles, game.is_gdl2) == (("white", "black"), False)
    assert game.spell("(f white black (g green))") == "(f White black (g Green))"
    assert outline("(role RANDOM)").is_gdl2
    assert outline("(<= ( SEES ?p x) y)").is_gdl2
    assert not outline("(sees_xml a b) (f (sees a b))").is_gdl2


def test_a_move_keeps_the_parentheses_that_the_rules_give_it() -> None:
    """To real servers, `(wait)` is legal here and `wait` is not, whatever other rules say."""
    rules = (
        "(role p) (legal p (Go)) (legal p ( put (it) )) (<= (legal ?p (wait)) (role ?p)) "
        "(init wait) (init (done)) (init (f done)) (<= (q) (r))"
    )
    game = outline(rules)
    assert [game.spell(move) for move in ("go", "(put it)", "wait", "done")] == [
        "(Go)",
        "(put (it))",
        "(wait)",
        "done",
    ]
    assert game.read("(GO)") == game.read("go") == "go"


def test_a_name_that_is_a_move_in_parentheses_keeps_its_other_uses() -> None:
    game = outline("(role p) (legal p (pass)) (legal p (pass 3)) (legal p (say pass)) (step pass)")
    moves = ("pass", "(pass 3)", "(say pass)")
    assert [game.spell(move) for move in moves] == ["(pass)", "(pass 3)", "(say pass)"]


def test_info_reply_says_whether_another_match_can_be_played() -> None:
    assert info_reply("ggp", busy=False) == "((name ggp) (status available) (species alien))"
    assert info_reply("ggp", busy=True) == "((name ggp) (status busy) (species alien))"


def test_name_that_is_no_symbol_cannot_be_sent() -> None:
    with pytest.raises(LocalProtocolError, match="must be one symbol"):
        info_reply("two words", busy=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("noop", "noop"), (" ( mark 1\n1 )\r\n", "(mark 1 1)"), ("READY", "READY"), ("(a)", "(a)")],
)
def test_reply_is_one_term_in_its_spelling(text: str, expected: str) -> None:
    assert parse_reply(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "a b", "(mark 1", "mark 1)", ")noop", "(a))", "; x"])
def test_reply_that_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(RemoteProtocolError, match="expected one term"):
        parse_reply(text)
