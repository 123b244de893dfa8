"""OpenSpiel's algorithms on rulesheets, and whether they find what `ggp solve` finds."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy
from open_spiel.python.algorithms import (
    best_response,
    cfr,
    expected_game_score,
    exploitability,
    ismcts,
    mcts,
)

from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.solve import solve
from tests.labs.openspiel.rulesheets.test_games_out import GAMES, SMALL, open_game
from tests.support.games import REPOSITORY

ZERO_SUM = ["kuhn_poker", "leduc_poker"]
TWO_PLAYERS = ["kuhn_poker", "spy_vs_spy", "banker_and_thief", "leduc_poker"]


@pytest.mark.parametrize("name", SMALL)
def test_cfr_runs_in_python_and_in_cpp(name: str) -> None:
    game = open_game(name)
    python, cpp = cfr.CFRSolver(game), pyspiel.CFRSolver(game)
    python.evaluate_and_update_policy()
    cpp.evaluate_and_update_policy()
    assert exploitability.nash_conv(game, python.average_policy()) == pytest.approx(
        pyspiel.nash_conv(game, cpp.average_policy())
    )


@pytest.mark.parametrize("name", TWO_PLAYERS)
def test_cfr_plus_finds_the_values_that_we_find(name: str) -> None:
    game = open_game(name)
    cached = pyspiel.convert_to_cached_tree(game)
    solver = pyspiel.CFRPlusSolver(cached)
    for _ in range(30 if name == "leduc_poker" else 1000):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    assert pyspiel.nash_conv(cached, average) < 0.5  # utilities span up to 100
    values = pyspiel.expected_returns(cached.new_initial_state(), average, -1, False)
    ours = solve(build_machine(load(name), "propnet")).profile.values
    expected = [ours[role] - game.sheet.share for role in game.sheet.names]
    assert values == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(
    "solver", [pyspiel.ExternalSamplingMCCFRSolver, pyspiel.OutcomeSamplingMCCFRSolver]
)
def test_sampled_cfr_improves(name: str, solver: Any) -> None:
    cached = pyspiel.convert_to_cached_tree(open_game(name))
    uniform = pyspiel.nash_conv(cached, pyspiel.UniformRandomPolicy(cached))
    learning = solver(cached, seed=1)
    for _ in range(2000):
        learning.run_iteration()
    assert pyspiel.nash_conv(cached, learning.average_policy(), True) < 0.8 * uniform


def test_the_best_response_alone_is_the_optimum() -> None:
    game = open_game("exploding_bomb")
    uniform = policy.UniformRandomPolicy(game)
    optimum = best_response.BestResponsePolicy(game, 0, uniform).value(game.new_initial_state())
    assert optimum == pytest.approx(90)


@pytest.mark.parametrize("name", ZERO_SUM)
def test_exploitability_is_worked_out(name: str) -> None:
    game = open_game(name)
    uniform = policy.UniformRandomPolicy(game)
    cached = pyspiel.convert_to_cached_tree(game)
    assert exploitability.exploitability(cached, uniform) == pytest.approx(
        pyspiel.exploitability(cached, pyspiel.UniformRandomPolicy(cached))
    )


@pytest.mark.parametrize("name", GAMES)
def test_information_set_search_plays_to_the_end(name: str) -> None:
    game = open_game(name)
    rng = np.random.RandomState(1)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    bot = ismcts.ISMCTSBot(game=game, uct_c=50.0, max_simulations=10, evaluator=evaluator)
    bot._random_state = rng  # else it is not seeded
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            actions, shares = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(actions, p=shares)))
        else:
            state.apply_action(bot.step(state))
    assert game.min_utility() <= min(state.returns()) <= max(state.returns()) <= game.max_utility()


@pytest.mark.parametrize("name", GAMES)
def test_a_playthrough_can_be_repeated(name: str) -> None:
    from open_spiel.python.algorithms import generate_playthrough  # slow to import

    text = generate_playthrough.playthrough(f"gdl(rules={name})", None, seed=1)
    actions = [int(action) for action in re.findall(r"^action: (\d+)$", text, re.MULTILINE)]
    assert actions
    assert generate_playthrough.playthrough(f"gdl(rules={name})", actions) == text


def test_the_uniform_policy_is_worth_what_random_play_is_worth() -> None:
    game = open_game("spy_vs_spy")
    uniform = policy.UniformRandomPolicy(game)
    worth = expected_game_score.policy_value(game.new_initial_state(), [uniform] * 2)
    assert worth == pytest.approx([50, 50])


def test_the_examples_of_the_page_run() -> None:
    page = (REPOSITORY / "docs" / "use" / "openspiel.md").read_text(encoding="utf-8")
    section = page.split("## Rulesheets in OpenSpiel")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


@pytest.mark.parametrize(
    ("name", "cut", "wrong"), [("exploding_bomb", 20, 0), ("kuhn_poker", 1, 19)]
)
def test_shimmy_pays_what_the_page_says(name: str, cut: int, wrong: int) -> None:
    shimmy = pytest.importorskip("shimmy.openspiel_compatibility")
    env = shimmy.OpenSpielCompatibilityV0(game_name="gdl", config={"rules": name})
    counts = [0, 0]
    for seed in range(20):
        rng = random.Random(seed)
        env.reset(seed=seed)
        rewards = dict.fromkeys(env.agents, 0.0)
        for agent in env.agent_iter():
            _, reward, ended, truncated, info = env.last()
            rewards[agent] += reward
            legal = np.flatnonzero(info["action_mask"]).tolist()
            env.step(None if ended or truncated else rng.choice(legal))
        is_over = env.game_state.is_terminal()
        counts[0] += not is_over
        counts[1] += is_over and list(rewards.values()) != env.game_state.returns()
    assert counts == [cut, wrong]
