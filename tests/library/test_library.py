"""What `import ggp` offers, and the page about it."""

from __future__ import annotations

import doctest
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.errors import BeliefDepletedError, ConfigError, GDLError, IllegalMoveError
from ggp.players.mcts import MCTS
from ggp.players.parts.tracker import Tracker
from tests.library.notebooks import NOTEBOOKS, run_cells, shown_by
from tests.support.effort import rarely
from tests.support.games import GAMES, REPOSITORY

TOSS = """
(role guesser) (role random) (init (step 1)) (side heads) (side tails)
(<= (legal random (toss ?s)) (true (step 1)) (side ?s))
(<= (legal random noop) (true (step 2)))
(<= (legal guesser noop) (true (step 1)))
(<= (legal guesser (say ?s)) (true (step 2)) (side ?s))
(<= (next (step 2)) (true (step 1))) (<= (next (step 3)) (true (step 2)))
(<= (next (up ?s)) (does random (toss ?s)))
(<= (next won) (true (up ?s)) (does guesser (say ?s)))
(<= terminal (true (step 3)))
(<= (goal guesser 100) (true won)) (<= (goal guesser 0) (not (true won))) (goal random 0)
"""


def test_the_page_about_the_library_says_what_happens() -> None:
    outcome = doctest.testfile(
        str(REPOSITORY / "docs" / "use" / "library.md"),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert outcome.attempted > 20
    assert outcome.failed == 0


def test_importing_it_imports_nothing_slow() -> None:
    code = "import sys, ggp; print(sorted({'numpy', 'numba', 'click'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "[]\n"


def test_errors_and_packages_are_there_from_the_first() -> None:
    code = "import ggp; print(ggp.errors.GGPError.__name__, ggp.env.make.__name__, ggp.gdl.parse)"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.startswith("GGPError make ")


def test_the_module_offers_exactly_its_public_names() -> None:
    for name in ggp.__all__:
        assert getattr(ggp, name)
    assert ggp.__version__.count(".") == 2
    assert dir(ggp) == sorted(ggp.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ggp.nonsense


@pytest.mark.parametrize("name", GAMES)
def test_every_game_can_be_played_through(name: str) -> None:
    game = ggp.load(name)
    state = game.initial()
    assert repr(state).startswith(f"<State of {name}: ")
    for turn in range(200):
        if state.terminal:
            break
        moves = {role: state.legal(role)[0] for role in game.roles if role != "random"}
        state, percepts = state.play(moves, seed=turn)
        assert set(percepts) == set(game.roles)
    assert set(state.goals) == set(game.roles)


def test_a_game_may_be_a_text_or_a_path() -> None:
    path = str(REPOSITORY / "games" / "monty_hall.gdl")
    assert ggp.load(path).initial().fluents == ggp.load("monty_hall").initial().fluents
    assert ggp.load(TOSS).roles == ("guesser", "random")
    assert ggp.load(Path(path)).roles == ggp.load("monty_hall").roles
    for wrong in (None, 3, b"monty_hall"):
        with pytest.raises(ConfigError, match=r"a game is given as a string .*, not as"):
            ggp.load(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown game 'nowhere'"):
        ggp.load("nowhere")
    with pytest.raises(GDLError, match="no rule for `terminal`"):
        ggp.load("(role me)")


def test_a_state_is_a_value() -> None:
    start = ggp.load(TOSS).initial()
    heads = start.play({"random": "(toss heads)"}).state
    assert start.fluents == ("(step 1)",)
    assert heads == start.play({"random": "(toss heads)"}).state
    assert heads != start.play({"random": "(toss tails)"}).state
    assert len({heads, start.play({"random": "(toss heads)"}).state}) == 1


def test_chance_is_drawn_where_nobody_says_what_it_does() -> None:
    start = ggp.load(TOSS).initial()
    states = {start.play({}, seed=seed).state.fluents for seed in range(20)}
    assert len(states) == 2
    assert start.play({}, seed=7).state == start.play({}, seed=7).state
    goals = [start.playout(seed=seed).goals for seed in range(100)]
    assert (
        30 < float(np.mean([goal_values["guesser"] for goal_values in goals if goal_values])) < 70
    )


@pytest.mark.parametrize("backend", ["propnet", "prolog"])
def test_a_playout_says_whether_the_game_came_to_its_end(backend: str) -> None:
    start = ggp.load(TOSS, backend=backend).initial()
    playout = start.playout(seed=1)
    assert playout.finished
    assert playout.steps == 2
    assert playout.goals is not None
    assert playout.goals["guesser"] in (0, 100)
    over = start.play({}).state.play({"guesser": "(say heads)"}).state
    assert over.playout() == ggp.Playout(finished=True, goals=over.goals, steps=0)
    endless = TOSS.replace("(<= terminal (true (step 3)))", "(<= terminal (true (step 4)))")
    stuck = ggp.load(endless, backend=backend).initial().playout()
    assert stuck == ggp.Playout(finished=False, goals=None, steps=2)


def test_moves_that_cannot_be_made_are_refused() -> None:
    state = ggp.load(TOSS).initial().play({"random": "(toss heads)"}).state
    with pytest.raises(IllegalMoveError, match=r"legal moves: \(say heads\), \(say tails\)"):
        state.play({"guesser": "(say nothing)"})
    with pytest.raises(ConfigError, match="guesser has 2 legal moves; say which it makes"):
        state.play({})
    with pytest.raises(ConfigError, match="unknown role 'nobody'"):
        state.play({"nobody": "noop"})
    over = state.play({"guesser": "(say heads)"}).state
    assert over.goals == {"guesser": 100.0, "random": 0.0}
    with pytest.raises(ConfigError, match="is over: nobody can move"):
        over.play({})


def test_a_belief_has_particles_weights_and_marginals() -> None:
    game = ggp.load(TOSS)
    for exact in (0, 100):
        belief = game.belief("guesser", [("noop", [])], exact=exact, particles=50)
        assert belief.weights.sum() == pytest.approx(1)
        assert {state.fluents for state in belief.particles} == {
            ("(step 2)", "(up heads)"),
            ("(step 2)", "(up tails)"),
        }
        assert belief.fluents == ("(step 2)", "(up heads)", "(up tails)")
        assert belief.marginals == pytest.approx([1, 0.5, 0.5])
        assert belief.probability("(up heads)") == pytest.approx(0.5)
        assert belief.probability("( UP  Heads )") == pytest.approx(0.5)
        assert belief.probability("won") == 0
    assert len(game.belief("guesser")) == 1


@pytest.mark.parametrize("backend", ["propnet", "prolog"])
@pytest.mark.parametrize(
    ("fluent", "message"),
    [
        ("(up nothing)", r"\(up nothing\) hold: in place of nothing there can be heads, tails$"),
        ("(upp heads)", r"the fluents are won, \(step \?\), \(up \?\); did you mean `up`\?$"),
        ("(up heads", r"one term of KIF is expected, .*\(this parenthesis is never closed"),
        ("(up heads) won", "one term of KIF is expected"),
        ("", "one term of KIF is expected"),
        ("(up ?side)", "it has a variable"),
        (None, "a fluent is a string of KIF"),
        (["won"], "a fluent is a string of KIF"),
    ],
)
def test_fluents_that_no_rule_makes_have_no_probability(
    fluent: Any, message: str, backend: str
) -> None:
    belief = ggp.load(TOSS, backend=backend).belief("guesser", [("noop", [])])
    with pytest.raises(ConfigError, match=message):
        belief.probability(fluent)


@pytest.mark.parametrize("seed", [-1, 1 << 63, 0.5, None, "1"])
def test_wrong_seeds_are_refused(seed: Any) -> None:
    game = ggp.load(TOSS, backend="prolog")
    start = game.initial()
    for ask in (
        lambda: game.player("guesser", "random", seed=seed),
        lambda: game.belief("guesser", seed=seed),
        lambda: start.play({}, seed=seed),
        lambda: start.playout(seed=seed),
        lambda: ggp.play_match(game, {}, seed=seed),
        lambda: ggp.compare(game, ["random", "legal"], seed=seed),
    ):
        with pytest.raises(ConfigError, match=rf"whole number from 0 to {2**63 - 1}, not {seed!r}"):
            ask()


def test_a_comparison_with_a_clock_leaves_the_objects_of_its_caller_alone() -> None:
    num_frozen = gc.get_freeze_count()
    game = ggp.load(TOSS, backend="prolog")
    ggp.compare(game, ["random", "legal"], rounds=1, play_clock=1.0)
    assert gc.get_freeze_count() <= num_frozen  # of those that were kept, some may be gone


def test_a_match_with_a_clock_has_no_start_clock_that_nobody_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trees grow on one: a match of seconds took a minute."""
    monkeypatch.setattr(MCTS, "prepare", lambda *_: pytest.fail("it prepares"))
    ggp.play_match("tic_tac_toe", {}, play_clock=0.05)
    ggp.compare("tic_tac_toe", ["mcts", "random"], rounds=1, play_clock=0.05)


def test_histories_that_cannot_be_are_refused() -> None:
    game = ggp.load("kuhn_poker")
    with pytest.raises(ConfigError, match="are not percepts of this game"):
        game.belief("player1", [("noop", ["(dealt ace)"])])
    with pytest.raises(ConfigError, match="is not a move of this game"):
        game.belief("player1", [("(raise all)", [])])
    with pytest.raises(BeliefDepletedError, match="no complete path agrees"):
        game.belief("player1", [("noop", [])])
    with pytest.raises(ConfigError, match="random plays by chance"):
        game.belief("random")


@pytest.mark.parametrize("exact", [0, 100])
def test_a_history_that_ends_the_match_is_reported(exact: int) -> None:
    game = ggp.load(TOSS)
    over: list[tuple[str, list[str]]] = [("noop", []), ("(say heads)", [])]
    for history, turn in ((over, 2), ([*over, ("noop", [])], 2)):
        with pytest.raises(ConfigError, match=f"the match is over after turn {turn} of"):
            game.belief("guesser", history, exact=exact, particles=20)
    with pytest.raises(BeliefDepletedError, match="contradicts the rules"):
        game.belief("guesser", [("(say heads)", [])], exact=exact, particles=20)


def test_particles_that_were_not_found_are_no_end_of_the_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    observe = Tracker.observe

    def observe_without_proof(self: Tracker, *arguments: Any) -> None:
        try:
            observe(self, *arguments)
        except BeliefDepletedError as error:
            raise BeliefDepletedError(error.path, error.attempts, exhausted=False) from None

    monkeypatch.setattr(Tracker, "observe", observe_without_proof)
    history: list[tuple[str, list[str]]] = [("noop", []), ("(say heads)", []), ("noop", [])]
    with pytest.raises(BeliefDepletedError):  # a turn follows, so the match may have gone on
        ggp.load(TOSS).belief("guesser", history)


def test_a_player_plays_a_match_on_its_own() -> None:
    game = ggp.load("monty_hall")
    player = game.player("candidate", "hyperplay2:n=4", seed=2)
    assert repr(player) == "<hyperplay2:n=4 as candidate>"
    state = game.initial()
    turn = 0
    while not state.terminal:
        move = player.choose().move
        state, percepts = state.play({"candidate": move}, seed=turn)
        player.observe(move, percepts["candidate"])
        turn += 1
    assert state.goals["candidate"] in (0, 100)


def test_a_match_is_played_on_the_backend_of_its_game_and_says_its_clock() -> None:
    game = ggp.load("kuhn_poker", backend="prolog")
    players = {"player1": "random", "player2": "legal"}
    record = ggp.play_match(game, players, play_clock=5.0, clock="cpu")
    assert (record.backend, record.clock, record.faults) == ("prolog", "cpu", ())
    summary = ggp.compare(game, ("random", "legal"), rounds=1, clock="cpu")
    report = summary.to_json()
    assert (report["backend"], report["options"]["clock"]) == ("prolog", "cpu")
    with pytest.raises(ConfigError, match="a clock must be one of wall, cpu, not 'sun'"):
        ggp.compare("kuhn_poker", ("random", "legal"), clock="sun")


def test_matches_are_those_of_the_match_runner() -> None:
    record = ggp.play_match("kuhn_poker", {"player1": "hyperplay:n=2"}, seed=5)
    repeated = ggp.play_match(ggp.load("kuhn_poker"), {"player1": "hyperplay:n=2"}, seed=5)
    assert record.players == {"player1": "hyperplay:n=2", "player2": "auto"}
    assert [t.joint_move for t in record.turns] == [t.joint_move for t in repeated.turns]
    with pytest.raises(ConfigError, match="unknown role 'agent'"):
        ggp.play_match("kuhn_poker", {"agent": "legal"})


def test_players_are_compared_in_rounds() -> None:
    counted: list[int] = []
    refined: list[int] = []
    comparison = ggp.compare(
        "exploding_bomb",
        ["hyperplay2:n=4", "hyperplay:n=2"],
        rounds=3,
        seed=1,
        advance=lambda: counted.append(1),
        refine=lambda summary: refined.append(summary.played),
    )
    assert refined == [2, 4, 6]
    assert (comparison.played, len(counted)) == (6, 6)
    scores = {entry.player: entry.score.value for entry in comparison.players}
    assert scores["hyperplay2:n=4"] == 90
    assert comparison.differences[0].rounds == 3
    by_matches = ggp.compare("exploding_bomb", ["legal", "random"], matches=4)
    assert by_matches.played == ggp.compare("exploding_bomb", ["legal", "random"], rounds=2).played
    with pytest.raises(ConfigError, match="matches 3 leaves a round unfinished"):
        ggp.compare("exploding_bomb", ["legal", "random"], matches=3)
    with pytest.raises(ConfigError, match="give matches or rounds, not both"):
        ggp.compare("exploding_bomb", ["legal", "random"], matches=4, rounds=2)
    with pytest.raises(ConfigError, match="give at least two players, each of them once"):
        ggp.compare("exploding_bomb", ["legal", "legal"])
    with pytest.raises(ConfigError, match="unknown player 'nobody'"):
        ggp.compare(ggp.load(TOSS), ["legal", "nobody"])


QUICK_NOTEBOOK = "strategy_fusion"

NEEDED = {"openspiel_learns": ("chex", "flax", "jax", "optax", "pyspiel")}
"""What notebooks need beside what all tests need."""


@pytest.mark.parametrize(
    "path",
    rarely(NOTEBOOKS, [path for path in NOTEBOOKS if path.stem != QUICK_NOTEBOOK]),
    ids=lambda path: path.stem,
)
def test_notebooks_show_what_they_store(path: Path) -> None:
    for library in NEEDED.get(path.stem, ()):
        pytest.importorskip(library)
    for cell, output in run_cells(path):
        assert output == shown_by(cell)
