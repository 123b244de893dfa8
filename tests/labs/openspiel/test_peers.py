"""OpenSpiel's bots as players of our rulesheets."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import ggp
from ggp.errors import ConfigError
from ggp.labs.openspiel.peers import SPARE_S
from ggp.machine.games import load_program
from ggp.players import PEERS, Player, describe_player, make_player, parse_spec
from ggp.search.anytime import Deadline
from match_runner.cli import main
from tests.support.games import machine_of_game

TREE, SET = "peer:openspiel-mcts", "peer:openspiel-ismcts"
BOT = "ggp.players.spiel_bot:OpenSpielBot"


def seated(game: str, role: str, spec: str, seed: int = 0) -> Player:
    machine = machine_of_game(game, "propnet")
    rng = np.random.default_rng(seed)
    number = machine.roles.index(role)
    return make_player(parse_spec(spec), machine, number, rng, program=load_program(game))


class Ticking:
    """A clock that goes on by 60 ms, or a given step, whenever it is read."""

    now_s = 0.0

    def __init__(self, tick_s: float = 0.06) -> None:
        self._tick_s = tick_s

    def __call__(self) -> float:
        self.now_s += self._tick_s
        return self.now_s


@pytest.mark.parametrize(
    ("game", "spec"),
    [
        ("tic_tac_toe", TREE),
        ("kuhn_poker", SET),  # the bot in C++
        ("krieg_tic_tac_toe", SET),  # the one in Python
        ("phantom_ttt", SET),
    ],
)
def test_a_peer_plays_matches_that_are_the_same_with_the_same_seed(game: str, spec: str) -> None:
    first, second, *_ = load_program(game).roles
    players = {first: f"{spec}:simulations=50", second: "legal"}
    records = [ggp.play_match(game, players, seed=3) for _ in range(2)]
    assert records[0].error is None
    assert records[0].players[first] == players[first]
    faults = [d.fault for turn in records[0].turns for d in turn.decisions.values()]
    assert set(faults) == {None}
    assert len({str([turn.joint_move for turn in record.turns]) for record in records}) == 1


def test_a_win_is_found() -> None:
    player = seated("tic_tac_toe", "xplayer", f"{TREE}:simulations=300")
    moves = [
        ("(mark 2 2)", "noop"), ("noop", "(mark 2 1)"),
        ("(mark 1 1)", "noop"), ("noop", "(mark 1 2)"),
    ]  # fmt: skip
    for x, o in moves:
        player.observe(x, [f"(did xplayer {x})", f"(did oplayer {o})"])
    assert player.choose().move == "(mark 3 3)"


def test_a_win_is_found_by_the_side_that_moves_second() -> None:
    player = seated("tic_tac_toe", "oplayer", f"{TREE}:simulations=300")
    for x, o in [("(mark 2 2)", None), (None, "(mark 1 1)"), ("(mark 3 3)", None),
                 (None, "(mark 1 2)"), ("(mark 3 1)", None)]:  # fmt: skip
        x, o = x or "noop", o or "noop"
        player.observe(o, [f"(did xplayer {x})", f"(did oplayer {o})"])
    assert player.choose().move == "(mark 1 3)"


def test_a_refused_move_is_known_to_be_taken() -> None:
    """O knows nothing but that the middle is taken: it goes on, in a cell that is not."""
    player = seated("krieg_tic_tac_toe", "oplayer", f"{SET}:simulations=200")
    player.observe("noop", ["your_move"])
    player.observe("(mark 2 2)", ["refused"])
    decision = player.choose()
    assert decision.fault is None
    assert decision.move != "(mark 2 2)"
    assert decision.particles == 1
    assert decision.exact


@pytest.mark.verify
@pytest.mark.parametrize(
    ("game", "spec", "tick_s"),
    [
        ("connect_four", TREE, 0.06),
        ("kuhn_poker", SET, 0.06),
        # It looks at the clock after every simulation, and then must have time for one look more.
        ("phantom_ttt", SET, SPARE_S / 2),
    ],
)
def test_a_peer_answers_in_time_by_the_clock_that_it_is_given(
    game: str, spec: str, tick_s: float
) -> None:
    program = load_program(game)
    player, clock = seated(game, program.roles[0], spec), Ticking(tick_s)
    if game == "kuhn_poker":
        player.observe("noop", ["(dealt king)"])
    decision = player.choose(Deadline(clock() + 1.0, clock))
    assert clock.now_s < 1.0
    assert decision.fault is None


def test_without_any_time_a_legal_move_is_made() -> None:
    player, clock = seated("phantom_ttt", "xplayer", SET), Ticking()
    decision = player.choose(Deadline(clock(), clock))
    assert decision.fault is not None
    assert "before OpenSpiel's bot had searched" in decision.fault
    assert decision.move.startswith("(mark ")


@pytest.mark.parametrize(
    ("game", "spec", "message"),
    [
        ("kuhn_poker", TREE, "in which players know different things; peer:openspiel-ismcts can"),
        ("openspiel:dark_hex", SET, "in OpenSpiel's own games, ggp.players.spiel_bot:OpenSpielBot"),
        (
            "openspiel:dark_hex",
            BOT,
            "OpenSpiel does not say how to draw a state",
        ),
        ("othello", SET, "in which everybody knows everything; peer:openspiel-mcts can"),
        (
            "meier",
            SET,
            "cannot play this game, but only those that OpenSpiel has too: breakthrough, ",
        ),
    ],
)
def test_a_game_that_it_cannot_play_is_told_before_the_first_match(
    game: str, spec: str, message: str
) -> None:
    first = load_program(game).roles[0]
    ran = CliRunner().invoke(main, ["play", game, "--player", f"{first}={spec}"])
    assert ran.exit_code == 2
    assert message in ran.stderr


def test_peers_are_known_by_their_names_and_by_no_others() -> None:
    for name in PEERS:
        assert parse_spec(f"{name}:simulations=5").name == name
        assert describe_player(name).summary.startswith("OpenSpiel's")
    with pytest.raises(ConfigError, match="did you mean 'peer:openspiel-mcts'"):
        parse_spec("peer:openspiel-mcst")
    with pytest.raises(ConfigError, match="option 'solver' of player"):
        parse_spec(f"{TREE}:solver=2")
    with pytest.raises(ConfigError, match="unknown player"):
        parse_spec(TREE, trusted=False)


def test_a_peer_without_the_rules_of_a_match_is_refused() -> None:
    machine = machine_of_game("tic_tac_toe")
    with pytest.raises(ConfigError, match="plays in matches only"):
        make_player(parse_spec(TREE), machine, 0, np.random.default_rng(0))
