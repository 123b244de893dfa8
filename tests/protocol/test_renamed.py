"""Servers that rename `sees` and `random` like any other word cost no move."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ggp.gdl import find_game, parse
from ggp.gdl.analysis.renamed import find_renamed, has_idle_role
from ggp.gdl.normalize import normalize
from ggp.gdl.program import SEES
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import WIRE_STYLES, Dialect
from ggp.protocol.spelling import outline, quick_rules, quick_term
from tests.protocol.doubles import LocalWorker, Referee, on_one_line, receive, respelled
from tests.protocol.transcripts import OF_GDL, scrambled
from tests.support.effort import rarely
from tests.support.games import GAMES, SHARED, path_of_shared

SHARED_GDL2 = [
    "gdl2/blind_breakthrough_5x5.gdl",
    "gdl2/kriegTTT_4x4.gdl",
    "gdl2/montyhall.gdl",
    "gdl2/transit.gdl",
    "gdl2/vis_pacman3p.gdl",
    "gdl2/mastermind.gdl",
]
NO_SEES = "gdl2/guessSix.gdl"
"""A game of chance without percepts."""

PLAYED = ["monty_hall", "krieg_tic_tac_toe", "exploding_bomb", "spy_vs_spy", *SHARED_GDL2, NO_SEES]
"""Games in which every role knows its legal moves."""

PLAIN_SHEETS = sorted(SHARED.glob("gdl1/*.kif"))


def rules_of(game: str) -> str:
    path = Path(path_of_shared(game)) if "/" in game else find_game(game)
    return on_one_line(path.read_text(encoding="utf-8", errors="replace"))


def role_of(rules: str) -> str:
    return next(role for role in normalize(parse(rules)).roles if role != "random")


# ---------------------------------------------------------------- recognition


@pytest.mark.parametrize("game", [*GAMES, *SHARED_GDL2, "gdl2/dominion.kif", "gdl2/sushi_go.kif"])
def test_keywords_are_recognised_by_their_use_in_rules(game: str) -> None:
    rules, spell = rules_of(game), scrambled(OF_GDL)
    program = normalize(parse(rules))
    restored = outline(respelled(rules, spell), role=spell(role_of(rules)))
    missing = {"sees"} if SEES in program.by_head else set()
    missing |= {"random"} & set(program.roles)
    assert restored.renamed == {keyword: spell(keyword).lower() for keyword in missing}
    assert restored.is_gdl2 == program.is_gdl2
    restored_program = normalize(parse(restored.exchanged(respelled(rules, spell))))
    assert restored_program.is_gdl2 == program.is_gdl2
    assert restored_program.roles == restored.roles
    assert [role == "random" for role in restored_program.roles] == [
        r == "random" for r in program.roles
    ]


@pytest.mark.parametrize("path", PLAIN_SHEETS, ids=lambda path: path.stem)
def test_plain_gdl_is_left_alone(path: Path) -> None:
    rules = parse(path.read_bytes()).rules
    roles = outline(path.read_text(encoding="utf-8", errors="replace")).roles
    assert find_renamed(rules, roles[0]) == {}


SEES_RULES = {
    "of a role and of all": "(<= (foo ?p (did ?q ?m)) (role ?p) (does ?q ?m)) (foo a b)",
    "through another relation": "(<= (moved ?m) (does a ?m)) (<= (foo a ?m) (moved ?m))",
    "of whom nothing binds": "(<= (foo ?p over) (does a ?m))",
    "of whom a fluent binds": "(init (turn a)) (<= (foo ?p ?m) (true (turn ?p)) (does b ?m))",
    "of the next state": "(init (at pellet 1)) (<= (foo ?p ?x) (next (at ?p ?x)))",
    "read by a goal": "(<= (foo a ?m) (does b ?m)) (<= (goal a 5) (foo a x))",
    "nested": "(<= (foo a x) (or (true y) (and (not (does b y)) (true z))))",
    "of two the one with does": (
        "(<= (moved ?m) (does a ?m)) (<= (won a ?m) (moved ?m)) (<= (foo a ?m) (does b ?m))"
    ),
    "of two the one nobody reads": (
        "(<= (won a ?m) (does b ?m)) (<= (goal a 1) (won a x)) (<= (foo a ?m) (does b ?m))"
    ),
}
NO_SEES_RULES = {
    "of the state": "(<= (foo ?p ?x) (role ?p) (true (at ?x)))",
    "read by a rule": "(<= (foo a ?m) (does a ?m)) (<= (next x) (foo a x))",
    "not of roles": "(<= (foo x ?m) (does a ?m))",
    "of fluents": "(init (at pellet)) (<= (foo ?x ?m) (true (at ?x)) (does a ?m))",
    "of one argument": "(<= (foo ?p) (does ?p x))",
    "besides sees": "(<= (foo ?p ?m) (does ?p ?m)) (<= (sees a ?m) (does b ?m))",
    "of what can be put in": "(<= (input ?p ?m) (role ?p) (move ?m))",
}
ROLES = "(role a) (role b) (<= (goal a 100) (true x)) (<= (goal b 0) (true y))"


@pytest.mark.parametrize("name", SEES_RULES)
def test_relation_that_shows_roles_the_moves_is_sees(name: str) -> None:
    assert find_renamed(quick_rules(f"{ROLES} {SEES_RULES[name]}"), "a") == {"sees": "foo"}


@pytest.mark.parametrize("name", NO_SEES_RULES)
def test_other_relations_are_not_sees(name: str) -> None:
    assert find_renamed(quick_rules(f"{ROLES} {NO_SEES_RULES[name]}"), "a") == {}


@pytest.mark.parametrize(
    ("goals", "expected"),
    [
        ("(goal dice 0)", "dice"),
        ("", "dice"),
        ("(goal dice 0) (<= (goal ?p 50) (role ?p) (true draw))", "dice"),
        ("(<= (goal ?p 50) (true (winner ?p))) (init (winner a))", "dice"),
        ("(<= (goal ?p 50) (role ?p) (true draw))", None),
        ("(<= (goal dice 100) (true x))", None),
        ("(goal dice 0) (goal dice 100)", None),
        ("(role other)", None),
    ],
)
def test_role_with_one_goal_or_none_is_random(goals: str, expected: str | None) -> None:
    sees = "(<= (foo ?p ?m) (role ?p) (does dice ?m))"
    renamed = find_renamed(quick_rules(f"(role dice) {ROLES} {sees} {goals}"), "a")
    assert renamed.get("random") == expected
    assert "random" not in find_renamed(quick_rules(f"(role dice) {ROLES} {goals}"), "a")


def test_role_of_a_percept_may_come_from_a_fluent_with_other_arguments() -> None:
    rules = quick_rules(
        "(role a) (role b) (role dice) (goal dice 0) (card c) (init (stage deal a))"
        "(<= (goal a 100) (true x)) (<= (goal b 0) (true y))"
        "(<= (legal dice (deal ?p ?c)) (true (stage deal ?p)) (card ?c))"
        "(<= (next (stage deal b)) (true (stage deal a)))"
        "(<= (next (stage play 1)) (true (stage deal b)))"
        "(<= (foo ?p (got ?c)) (does dice (deal ?p ?c)))"
    )
    assert find_renamed(rules, "a") == {"sees": "foo", "random": "dice"}


def test_role_that_we_play_is_never_random() -> None:
    rules = quick_rules("(role a) (<= (foo a ?m) (does a ?m))")
    assert find_renamed(rules, "a") == {"sees": "foo"}
    assert not has_idle_role(rules, "a")


# ---------------------------------------------------------------- there and back


def test_words_change_places_in_both_directions() -> None:
    rules = "(ROLE Me) (ROLE Dice) (goal Dice 0) (<= (goal Me 100) (true Sees)) (<= (Foo Me ?Sees)"
    game = outline(f"{rules} (does Dice ?Sees))", role="Me")
    assert game.renamed == {"sees": "foo", "random": "dice"}
    assert game.roles == ("me", "random")
    assert game.read("(DID DICE (FOO SEES))") == "(did random (sees foo))"
    assert game.spell("(did random (sees foo))") == "(did Dice (Foo Sees))"
    assert game.exchanged("(<= (Foo Me ?Foo) (true Sees))") == "(<= (sees Me ?Foo) (true foo))"


def test_variable_is_not_the_spelling_of_a_constant() -> None:
    assert outline("(<= (f ?Move) (g ?Move)) (g move)").spell("move") == "move"


def test_quick_reader_leaves_out_what_it_does_not_understand() -> None:
    rules = "(<= (f ?X) (g (H)) ; (i\n) ) ((k j) l) (m) )) n ()"
    assert [str(rule) for rule in quick_rules(rules)] == ["(<= (f ?x) (g h))", "m", "n"]
    assert quick_rules("(f a) (g") == ()
    assert str(quick_term("(Mark 1 1)")) == "(mark 1 1)"
    assert quick_term("a b") is None
    assert quick_term("") is None


# ---------------------------------------------------------------- matches


class Checked(Referee):
    """A referee that knows how its player should read the last turn."""

    def last_turn(self) -> tuple[tuple[str, ...], str]:
        """The percepts of the last turn, and the player's move, as the player reads them."""
        read = outline(self.start.rules, role=self.start.role).read
        percepts = sorted({read(respelled(percept, self.spelling)) for percept in self._percepts})
        return tuple(percepts), read(respelled(self._joint[self._index], self.spelling))


@pytest.mark.parametrize("style", ["gdl2", "gdl2-old"])
@pytest.mark.parametrize("game", rarely(PLAYED, PLAYED[1::2]))
def test_match_with_renamed_keywords_is_played_legally(game: str, style: str) -> None:
    rules = rules_of(game)
    match = Checked(rules, role_of(rules), WIRE_STYLES[style], scrambled(OF_GDL))
    lobby = Lobby("ggp")
    worker = LocalWorker(lobby)
    assert match.send(match.start, worker.serve) == "ready"
    (session,) = lobby.live
    while not match.is_over and match.turn < 8:
        reply = match.send(match.play(), worker.serve)
        assert len(session.history) == match.turn
        if match.turn:
            last = session.history[-1]
            percepts, move = match.last_turn()
            assert last.move == move
            assert last.percepts == (None if game == NO_SEES else percepts)
        match.execute(reply)  # demands a legal move
    assert match.send(match.stop(), worker.serve) == "done"


def test_percepts_are_not_taken_for_a_joint_move() -> None:
    """The lists have as many terms as there are roles, which proves nothing."""
    rules = "(role a) (role b) (<= (legal ?p (mark ?x)) (cell ?x)) (<= (legal ?p noop) (true x))"
    for news in ("(got 1) (mark 2)", "noop (mark 1 2)", "noop ?x", "noop noop noop"):
        lobby = Lobby("ggp")
        receive(lobby, f"(START m a ({rules}) 10 10)", 0.0)
        first = receive(lobby, "(PLAY m NIL)", 1.0).ask
        assert first is not None
        lobby.answer(first, "(mark 1)", 1.0)
        receipt = receive(lobby, f"(PLAY m ({news}))", 2.0)
        assert receipt.ask is not None
        (turn,) = receipt.ask.history
        assert (turn.move, turn.percepts, turn.assumed) == ("(mark 1)", None, True)
        assert any("which the server may have renamed" in note for note in receipt.notes)


def test_numbered_list_that_contradicts_our_move_is_no_joint_move() -> None:
    lobby = Lobby("ggp")
    rules = "(role a) (role b) (<= (legal ?p (mark ?x)) (cell ?x))"
    receive(lobby, f"(START m a ({rules}) 10 10)", 0.0)
    ask = receive(lobby, "(PLAY m 1 (MARK 3) ((MARK 1) (MARK 2)))", 1.0).ask
    assert ask is not None
    (turn,) = ask.history
    assert (turn.move, turn.percepts) == ("(mark 3)", None)


def test_game_of_chance_without_percepts_goes_on() -> None:
    """Only the goal of the dice shows that this is GDL-II; the list of percepts is NIL."""
    rules = (
        "(ROLE DICE) (ROLE ME) (GOAL DICE 100) (<= (GOAL ME 100) (TRUE RIGHT))"
        "(<= (LEGAL DICE (ROLL ?N)) (SIDE ?N)) (<= (LEGAL ME (GUESS ?N)) (SIDE ?N))"
    )
    lobby = Lobby("ggp")
    receive(lobby, f"(START m ME ({rules}) 10 10)", 0.0)
    for turn in range(3):
        ask = receive(lobby, "(PLAY m NIL)", float(20 * turn)).ask
        assert ask is not None
        assert len(ask.history) == turn
        lobby.answer(ask, "(guess 1)", float(20 * turn))


def test_rule_that_servers_add_for_players_of_gdl2_is_understood_under_any_name() -> None:
    rules = rules_of("tic_tac_toe") + " (<= (sees ?p (did ?p2 ?m)) (role ?p) (does ?p2 ?m))"
    match = Referee(rules, "xplayer", WIRE_STYLES["gdl2"], scrambled(OF_GDL))
    assert match.style.dialect is Dialect.GDL2
    match.referee(LocalWorker(Lobby("ggp")).serve)
    plays = [line for line in match.transcript if line.startswith("> (PLAY")]
    assert not any(re.search("SEES|[( ]DID", line) for line in plays)
