"""Games of chance on servers of plain GDL, which send joint moves and ignore `sees`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from ggp.gdl import parse
from ggp.gdl.analysis.told_moves import never_tells
from ggp.gdl.normalize import normalize
from ggp.players import Decision
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import WIRE_STYLES
from ggp.protocol.path import NO_FIT, Fit, PathTurn
from ggp.server.workers.orders import Answer, Failed, MoveReport, Setup, Think
from ggp.server.workers.worker_match import WorkerMatch
from tests.protocol.doubles import Referee, receive
from tests.protocol.transcripts import OF_GDL, scrambled
from tests.server.live import PATIENCE_S

DICE = """
(role random) (role me) (role you) (init (phase roll)) (init (round 1))
(face 1) (face 2) (face 3) (succ 1 2) (succ 2 3)
(<= (legal random (roll ?f)) (true (phase roll)) (face ?f))
(<= (legal random noop) (true (phase (go ?f))))
(<= (legal ?p noop) (role ?p) (distinct ?p random) (true (phase roll)))
(<= (legal me (take ?f)) (true (phase (go ?f)))) (<= (legal me (leave ?f)) (true (phase (go ?f))))
(<= (legal you (pass ?f)) (true (phase (go ?f))))
(<= (next (phase (go ?f))) (does random (roll ?f)))
(<= (next (phase roll)) (true (phase (go ?f))))
(<= (next (round ?m)) (true (phase (go ?f))) (true (round ?n)) (succ ?n ?m))
(<= (next (round ?n)) (true (phase roll)) (true (round ?n)))
(<= terminal (true (round 3)))
(<= (goal me 100) (true (round 3))) (<= (goal you 0) (true (round 3)))
"""
"""What may be taken or left depends on the dice, which the rules show to nobody."""

SHOWN = "(<= (sees me (shown ?f)) (does random (roll ?f)))"
PLAYERS = ["random", "hyperplay:n=2,states=500", "hyperplay2:n=2,states=500"]


@dataclass
class Worker:
    """The worker of a lobby's one match, in this process."""

    lobby: Lobby
    player: str
    backend: str
    tries_doubts: bool = False
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.match = WorkerMatch(self.answers.append, lambda: False)

    def serve(self, text: str) -> str:
        receipt = receive(self.lobby, text, 0.0)
        if receipt.began is not None:
            opening = receipt.began
            setup = Setup(opening.rules, opening.role, self.player, self.backend, 1, 20.0, 2 << 30)
            self.match.build(setup)
        if receipt.ask is None:
            return receipt.reply or "refused"
        ask, move, fit = receipt.ask, None, NO_FIT
        if ask.wants_move:
            for index, history in enumerate(ask.readings if self.tries_doubts else [ask.history]):
                decision = self.decide(ask.number, history, history != ask.history)
                move = decision.move
                if decision.is_sound:
                    fit = Fit(index, index)
                    break
        return self.lobby.answer(ask, move, 0.0, fit)

    def decide(self, number: int, history: Sequence[PathTurn], is_doubt: bool) -> Decision:
        order = Think(number, 0, tuple(history), time.monotonic() + PATIENCE_S, is_doubt)
        self.match.take_note(order)
        self.match.think(order)
        report = self.answers[-1]
        assert isinstance(report, MoveReport)
        assert report.final
        assert report.decision.fault is None or self.tries_doubts
        assert not any(isinstance(answer, Failed) for answer in self.answers)
        return report.decision


@pytest.mark.parametrize(
    "spelling", [str, scrambled(OF_GDL | {"random"})], ids=["as it is", "renamed"]
)
@pytest.mark.parametrize("backend", ["prolog", "propnet"])
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("rules", [DICE, DICE + SHOWN], ids=["no sees", "sees"])
def test_joint_moves_of_a_game_of_chance_are_understood(
    rules: str, player: str, backend: str, spelling: Callable[[str], str]
) -> None:
    match = Referee(rules, "me", WIRE_STYLES["ggp-base"], spelling)
    match.referee(Worker(Lobby("ggp"), player, backend).serve)  # demands legal moves
    assert match.turn == 4


ECHOED = """
(<= (sees me (roll ?f)) (does random (roll ?f))) (<= (sees me noop) (does random noop))
(<= (sees me (take ?f)) (does me (take ?f))) (<= (sees me (leave ?f)) (does me (leave ?f)))
(<= (sees me (pass ?f)) (does you (pass ?f)))
(<= (sees me dull) (true (phase roll)))
"""
"""Any joint move of the dice might be percepts, too, though only one role would see so much."""


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("style", ["ggp-base", "gdl2-old"])
def test_ambiguous_terms_are_read_in_the_way_that_fits(
    style: str, player: str, backend: str
) -> None:
    match = Referee(DICE + ECHOED, "me", WIRE_STYLES[style])
    lobby = Lobby("ggp")
    worker = Worker(lobby, player, backend, tries_doubts=True)
    assert match.send(match.start, worker.serve) == "ready"
    (session,) = lobby.live
    while not match.is_over:
        match.execute(match.send(match.play(), worker.serve))  # demands legal moves
    tells_moves = [
        percept[:5] == "(did " for turn in session.history for percept in turn.percepts or ()
    ]
    assert set(tells_moves) == {style == "ggp-base"}


@pytest.mark.parametrize("style", ["gdl2", "gdl2-old"])
def test_percepts_of_the_same_game_are_still_percepts(style: str) -> None:
    match = Referee(DICE + SHOWN, "me", WIRE_STYLES[style])
    lobby = Lobby("ggp")
    worker = Worker(lobby, PLAYERS[1], "prolog")
    assert match.send(match.start, worker.serve) == "ready"
    (session,) = lobby.live
    while not match.is_over:
        match.execute(match.send(match.play(), worker.serve))
    percepts_by_turn = [turn.percepts for turn in session.history]
    assert [percepts[0][:6] for percepts in percepts_by_turn if percepts] == ["(shown", "(shown"]


@pytest.mark.parametrize(
    ("sees", "news"),
    [
        ("", "(roll 2) noop"),
        (SHOWN, "(roll 2) noop"),
        (SHOWN, "(shown 2) noop noop"),
        ("(<= (sees me ?m) (does ?p ?m))", "(roll 2) noop noop"),
        ("(<= (sees me (roll ?f)) (does random (roll ?f))) (sees me noop)", "(roll 2) noop noop"),
    ],
)
def test_terms_that_may_be_percepts_are_no_joint_move(sees: str, news: str) -> None:
    lobby = Lobby("ggp")
    receive(lobby, f"(START m me ({DICE} {sees}) 10 10)", 0.0)
    receive(lobby, "(PLAY m NIL)", 1.0)
    ask = receive(lobby, f"(PLAY m ({news}))", 2.0).ask
    assert ask is not None
    (turn,) = ask.history
    assert turn.percepts is not None
    assert not any(percept.startswith("(did") for percept in turn.percepts)


def test_joint_move_that_contradicts_our_move_is_no_joint_move() -> None:
    lobby = Lobby("ggp")
    receive(lobby, f"(START m me ({DICE}) 10 10)", 0.0)
    ask = receive(lobby, "(PLAY m 1 (take 2) ((roll 2) noop noop))", 1.0).ask
    assert ask is not None
    (turn,) = ask.history
    assert (turn.move, turn.percepts) == ("(take 2)", ("(roll 2)", "noop"))


@pytest.mark.parametrize(
    ("sees", "never"),
    [
        ("", True),
        (SHOWN, True),
        ("(<= (sees me (did ?p ?m)) (does ?p ?m))", False),
        ("(<= (sees me ?m) (does ?p ?m))", False),
    ],
)
def test_rules_whose_percepts_may_show_moves_are_recognised(sees: str, never: bool) -> None:
    assert never_tells(normalize(parse(DICE + sees))) == never


def test_plain_gdl_shows_all_moves() -> None:
    assert not never_tells(normalize(parse("(role a) (init x) (legal a go) terminal (goal a 1)")))
