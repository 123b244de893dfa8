"""Rules with terms that have no name: messages and answers have such terms, too."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.protocol.messages import Play
from ggp.protocol.reading import Request, parse_message, read_request
from ggp.protocol.spelling import outline
from ggp.server.settings import HostOptions
from match_runner.remote.wire import DRESDEN, GGP_BASE, LastTurn, Server, Wire
from tests.server.live import live_server, start
from tests.support.shop import SHOP

RULES = " ".join(SHOP.split())


def test_a_match_is_played_in_the_terms_of_its_rules() -> None:
    with live_server(HostOptions("hyperplay:n=1,states=500", name="buyer")) as server:
        assert server.post(start("shop", RULES, "Buyer", "60 30")) == "ready"
        assert server.post("(PLAY shop NIL)").lower() in (
            *("(earn (3 coins))", "(earn (2 ore))"),
            "(buy wall (1 ore))",
        )
        assert server.post("(PLAY shop ((earn (3 Coins)) noop))") == "(buy temple (3 Coins))"
        assert server.post("(STOP shop ((buy temple (3 Coins)) noop))") == "done"


def test_messages_are_read_with_the_tuples_of_the_rules() -> None:
    rules = outline(RULES)
    move = "(buy temple (tuple 3 coins))"
    assert rules.read("(BUY temple ( 3 COINS))") == move
    assert rules.spell(move) == "(buy temple (3 Coins))"
    assert rules.may_be_moves([move, "noop"])
    assert not rules.may_be_moves(["(buy temple (3 coins))", "noop"])
    assert rules.read("(did Buyer (earn (3 coins)))") == "(did buyer (earn (tuple 3 coins)))"
    plain = outline("(role a) (<= (legal a (f (3 ?x))) (p ?x)) (p (tuple 1 2))")
    assert plain.read("(f (3 (tuple 1 2)))") == plain.spell("(f (3 (tuple 1 2)))")


@pytest.mark.parametrize("server", [DRESDEN, GGP_BASE], ids=lambda server: server.name)
@pytest.mark.parametrize("scrambled", [False, True])
def test_remote_players_are_sent_the_terms_of_the_rules(server: Server, scrambled: bool) -> None:
    rng = np.random.default_rng(1) if scrambled else None
    wire = Wire(normalize(parse(SHOP)), server, rng=rng)
    request = read_request(Request(wire.start("m", "buyer", 10, 10), 0.0))
    assert request.rules is not None
    assert "tuple" not in request.rules.spell("(p (tuple 1 2))")
    move = "(buy temple (tuple 3 coins))"
    play = parse_message(wire.play("m", 1, LastTurn(move, (), (move, "noop"))))
    assert isinstance(play, Play)
    assert play.terms is not None
    assert "tuple" not in play.terms[0].lower()
    answer = request.rules.spell(request.rules.read(play.terms[0]))
    assert wire.read_move(answer.upper() if server.any_case else answer) == move
