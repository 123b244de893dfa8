"""Approximate best responses, beside exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ggp.belief import PathTree
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.labs.learning.respond import Bound, Budget, measure, movers
from ggp.labs.learning.respond import measuring as responding
from ggp.labs.learning.respond.measuring import learnt
from ggp.labs.learning.respond.movers import AskedPlayer, Mover, PathPolicy, PolicyTeller, Uniform
from ggp.labs.learning.respond.responders import Rival, Searched, play
from ggp.machine import Machine
from ggp.machine.base import IntArray, Ragged
from ggp.machine.games import build_machine, load_program
from ggp.players import make_player, parse_spec
from ggp.solve import Chooser, MakeChooser, build_tree, solve_tree
from ggp.solve.forest import evaluate
from tests.solve.games import plain_tree
from tests.solve.test_exploit import players_of
from tests.support.games import machine_of_game, machine_of_rules

ODD_OR_EVEN = """
(role guesser) (role hider)
(coin odd) (coin even)
(init (turn 1))
(<= (legal hider (hide ?c)) (coin ?c) (true (turn 1)))
(<= (legal guesser noop) (true (turn 1)))
(<= (legal hider noop) (true (turn 2)))
(<= (legal guesser (guess ?c)) (coin ?c) (true (turn 2)))
(<= (next (turn 2)) (true (turn 1)))
(<= (next (turn 3)) (true (turn 2)))
(<= (next (hidden ?c)) (does hider (hide ?c)))
(<= (next (hidden ?c)) (true (hidden ?c)))
(<= (next (guessed ?c)) (does guesser (guess ?c)))
(<= (sees guesser hidden) (true (turn 1)))
(<= terminal (true (turn 3)))
(<= right (true (hidden ?c)) (true (guessed ?c)))
(<= (goal guesser 100) right) (<= (goal guesser 0) (not right))
(<= (goal hider 0) right) (<= (goal hider 100) (not right))
"""


@dataclass
class Choice:
    move: str
    probabilities: Mapping[str, float] | None = None
    exact: bool = True


class Coin:
    """Draws its moves by lot; gives its probabilities only on request."""

    made = 0

    def __init__(self, rng: np.random.Generator, tells: bool) -> None:
        Coin.made += 1
        self._rng, self.tells_policy = rng, tells
        self.told: list[str | None] = []

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        self.told.append(move)
        assert len(self.told) == 1, "nobody is told of the last turn"

    def choose(self) -> Choice:
        verb = "guess" if self.told else "hide"
        moves = [f"({verb} {coin})" for coin in ("odd", "even")]
        shares = dict.fromkeys(moves, 0.5) if self.tells_policy else None
        return Choice(moves[self._rng.integers(2)], shares)


def maker(machine: Machine, text: str) -> MakeChooser:
    spec = parse_spec(text)
    return lambda role, rng: make_player(spec, machine, role, rng)


def best_against_uniform(machine: Machine) -> dict[str, float]:
    """The exact score of a best response to uniform play in each role."""
    tree = build_tree(machine)
    uniform = []
    for sets in tree.sets:
        shares = np.repeat(1 / sets.counts, sets.counts)
        uniform.append(np.concatenate([np.ones(tree.num_subgames), shares]))
    return dict(zip(tree.names, evaluate(tree, uniform).best.tolist(), strict=True))


def assert_near(bound: Bound, exact: Mapping[str, float], points: float) -> None:
    for role, response in bound.responses.items():
        low, high = response.score.low, response.score.high
        assert low is not None
        assert high is not None
        assert low < exact[role] < high
        assert response.score.value == pytest.approx(exact[role], abs=points)


@pytest.mark.parametrize(
    ("game", "updates"),
    [("kuhn_poker", 20), ("leduc_poker", 40), ("spy_vs_spy", 8), ("exploding_bomb", 8)],
)
def test_the_search_finds_best_responses_to_uniform_play(game: str, updates: int) -> None:
    machine = machine_of_game(game, "propnet")
    measured = measure(Rival(machine, None), Budget(updates, None), 4000, seed=1)
    assert_near(measured, best_against_uniform(machine), points=3.0)


@pytest.mark.verify
def test_the_search_comes_near_in_a_game_too_large_for_a_tree() -> None:
    """The exact values come from enumerating all of the responder's information sets."""
    machine = machine_of_game("phantom_ttt", "propnet")
    measured = measure(Rival(machine, None), Budget(35, None), 4000, seed=1, responders=(Searched,))
    assert_near(measured, {"xplayer": 97.65625, "oplayer": 81.21693}, points=4.0)


def test_scores_of_both_sides_add_up() -> None:
    measured = measure(
        Rival(machine_of_game("kuhn_poker", "propnet"), None), Budget(15, None), 500, seed=1
    )
    assert measured.total == 100
    assert measured.nash_conv is not None
    scores = [response.score.value or 0.0 for response in measured.responses.values()]
    assert measured.nash_conv.value == pytest.approx(sum(scores) - 100)
    for mine, opponent in (("player1", "player2"), ("player2", "player1")):
        remainder, score = measured.remainders[mine].value, measured.responses[opponent].score.value
        assert remainder is not None
        assert score is not None
        assert remainder + score == pytest.approx(100)


def test_a_game_of_one_player_is_only_solved() -> None:
    measured = measure(
        Rival(machine_of_game("monty_hall", "propnet"), None), Budget(12, None), 2000, seed=1
    )
    assert (measured.remainders, measured.total, measured.nash_conv) == ({}, None, None)
    (response,) = measured.responses.values()
    assert response.score.value == pytest.approx(200 / 3, abs=4)


def test_the_same_seed_gives_the_same_bound() -> None:
    machine = machine_of_rules(ODD_OR_EVEN)

    def make(role: int, rng: np.random.Generator) -> Chooser:
        return Coin(rng, tells=False)

    first, second = (measure(Rival(machine, make), Budget(4, None), 40, seed=5) for _ in range(2))
    for role, response in first.responses.items():
        assert (response.goals == second.responses[role].goals).all()
        scores = [judged.score for judged in response.over_time]
        assert scores == [judged.score for judged in second.responses[role].over_time]


def test_an_equilibrium_yields_no_more_than_its_value() -> None:
    tree = plain_tree("kuhn_poker")
    make = players_of(tree, solve_tree(tree).profile.strategies)
    measured = measure(Rival(tree.machine, make, tells=True), Budget(15, None), 3000, seed=1)
    assert_near(measured, {"player1": 875 / 18, "player2": 925 / 18}, points=3.0)


@pytest.mark.parametrize("tells", [False, True])
def test_a_player_that_tosses_coins_cannot_be_exploited(tells: bool) -> None:
    """If its first draws were kept, a response would always be right."""

    def make(role: int, rng: np.random.Generator) -> Chooser:
        return Coin(rng, tells)

    Coin.made = 0
    measured = measure(
        Rival(machine_of_rules(ODD_OR_EVEN), make, tells), Budget(3, None), 200, seed=1
    )
    for response in measured.responses.values():
        assert response.score.low is not None
        assert response.score.low < 50
        assert (response.score.value or 0.0) < 60
    assert (Coin.made == 2) == tells


def test_moves_of_a_told_policy_are_made_with_its_probabilities() -> None:
    machine = machine_of_rules(ODD_OR_EVEN)
    rng, paths = np.random.default_rng(1), PathTree(machine)
    spec = maker(machine, "random")
    guesser, hider = machine.roles.index("guesser"), machine.roles.index("hider")

    def shares(share: float) -> MakeChooser:
        class Leaning(Coin):
            def choose(self) -> Choice:
                return Choice("(hide odd)", {"(hide odd)": share, "(hide even)": 1 - share})

        return lambda role, rng: Leaning(rng, tells=True)

    movers: dict[int, Mover] = {
        hider: PolicyTeller(machine, paths, hider, shares(0.8), rng),
        guesser: AskedPlayer(machine, guesser, spec, rng),
    }
    goals = play(machine, paths, movers, 200, rng)
    assert goals.sum(axis=1) == pytest.approx(100)
    counted = PolicyTeller(machine, paths, hider, shares(0.8), rng)
    legal = machine.legal(machine.initial(4000), hider)
    moves = counted.moves(np.arange(4000), np.full(4000, hider), legal)
    odd = machine.move_id("(hide odd)")
    assert np.mean(moves == odd) == pytest.approx(0.8, abs=0.03)
    assert counted.num_known == 1


def test_a_policy_that_is_forgotten_is_asked_about_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("kuhn_poker", "propnet")
    rng, paths = np.random.default_rng(1), PathTree(machine)
    role = machine.roles.index("player1")
    paths_asked: list[int] = []

    class Noting(PathPolicy):
        def _ask(self, paths: IntArray, legal: Ragged) -> None:
            for path in paths.tolist():
                paths_asked.append(path)
                self._note(path, legal.values.tolist(), [1.0] * len(legal.values))

    policy = Noting(machine, paths, role, rng)
    later = paths.extend(np.array([role]), np.array([0]), np.array([0]))
    legal = Ragged(np.array([0, 2]), np.array([0, 1]))
    for path in (role, role, int(later[0])):
        policy.moves(np.arange(1), np.array([path]), legal)
    assert (paths_asked, policy.num_known) == ([role, int(later[0])], 2)
    monkeypatch.setattr(movers, "MAX_KNOWN", 1)
    policy.moves(np.arange(1), np.array([role]), legal)
    assert (paths_asked, policy.num_known) == ([role, int(later[0]), role], 1)


def test_moves_that_are_not_legal_become_random_legal_ones() -> None:
    class Wrong(Coin):
        def choose(self) -> Choice:
            return Choice("(hide nothing)")

    machine = machine_of_rules(ODD_OR_EVEN)
    rng, paths = np.random.default_rng(1), PathTree(machine)
    hider, guesser = machine.roles.index("hider"), machine.roles.index("guesser")
    player = AskedPlayer(machine, hider, lambda role, rng: Wrong(rng, tells=False), rng)
    goals = play(machine, paths, {hider: player, guesser: Uniform(rng)}, 400, rng)
    assert np.nanmean(goals[:, guesser]) == pytest.approx(50, abs=10)


@pytest.mark.parametrize("player", [None, "random"])
def test_a_net_learns_to_respond(player: str | None) -> None:
    """Asked for its policy or made at random by kernels, uniform play is the same."""
    machine = machine_of_game("kuhn_poker", "propnet")
    measured = measure(
        Rival(
            machine,
            None if player is None else maker(machine, player),
            tells=player is not None,
            program=load_program("kuhn_poker"),
        ),
        Budget(12, None),
        2000,
        seed=1,
        responders=(learnt,),
    )
    assert_near(measured, {"player1": 62.5, "player2": 50 + 125 / 12}, points=4.0)
    assert {
        judged.by for response in measured.responses.values() for judged in response.over_time
    } == {"learnt"}


@pytest.mark.verify
def test_a_net_learns_from_players_that_are_asked_in_each_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is judged while matches go on; players must not notice."""
    odd = replace(responding.SETTINGS, turns=17)
    monkeypatch.setattr(responding, "SETTINGS", odd)

    def make(role: int, rng: np.random.Generator) -> Chooser:
        return Leaning(rng, tells=False)

    class Leaning(Coin):
        def choose(self) -> Choice:
            return Choice("(guess odd)" if self.told else "(hide odd)")

    measured = measure(
        Rival(machine_of_rules(ODD_OR_EVEN), make, program=normalize(parse(ODD_OR_EVEN))),
        Budget(10, None),
        50,
        seed=1,
        responders=(learnt,),
    )
    assert min(response.score.value or 0.0 for response in measured.responses.values()) > 85


@pytest.mark.verify
def test_few_players_that_are_asked_are_there_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may have a belief and a tree: a thousand side by side would fill the memory."""
    num_matches: list[int] = []
    begin = AskedPlayer.begin

    def watched(self: AskedPlayer, matches: np.ndarray) -> None:
        num_matches.append(len(matches))
        begin(self, matches)

    monkeypatch.setattr(AskedPlayer, "begin", watched)
    machine = machine_of_game("kuhn_poker", "propnet")
    measured = measure(Rival(machine, maker(machine, "legal")), Budget(2, None), 100, seed=1)
    assert max(num_matches) == 32
    assert {len(response.goals) for response in measured.responses.values()} == {100}


def test_with_few_matches_an_update_responders_learn_from_as_many_whoever_plays() -> None:
    machine = machine_of_rules(ODD_OR_EVEN)

    def learned_from(tells: bool) -> list[tuple[str, int]]:
        def make(role: int, rng: np.random.Generator) -> Chooser:
            return Coin(rng, tells=tells)

        measured = measure(Rival(machine, make, tells, few=True), Budget(3, None), 20, seed=1)
        (response, *_) = measured.responses.values()
        return [(judged.by, judged.matches) for judged in response.over_time]

    assert learned_from(tells=True) == learned_from(tells=False)


def test_a_game_without_rules_is_searched() -> None:
    pytest.importorskip("pyspiel")
    game = load_program("openspiel:kuhn_poker")
    machine = build_machine(game)
    measured = measure(Rival(machine, None, program=game), Budget(1, None), 4, seed=1)
    assert {response.by for response in measured.responses.values()} == {"searched"}
