"""Environments of PettingZoo and gymnasium: what their own tests ask, and ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError, IllegalMoveError
from ggp.machine.games import read_program

pettingzoo_env = pytest.importorskip("ggp.env.pettingzoo_env")
gymnasium_env = pytest.importorskip("ggp.env.gymnasium_env")
pettingzoo_tests = pytest.importorskip("pettingzoo.test")

GAMES = ("kuhn_poker", "tic_tac_toe", "spy_vs_spy", "meier")


@pytest.mark.parametrize("game", GAMES)
def test_parallel_environment_passes_the_tests_of_pettingzoo(game: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pettingzoo_tests.parallel_api_test(pettingzoo_env.parallel_env(game), num_cycles=60)


@pytest.mark.parametrize("game", GAMES)
def test_aec_environment_passes_the_tests_of_pettingzoo(game: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pettingzoo_tests.api_test(pettingzoo_env.aec_env(game), num_cycles=60)


def test_seeds_are_those_of_pettingzoo() -> None:
    pettingzoo_tests.seed_test(lambda: pettingzoo_env.aec_env("kuhn_poker"), num_cycles=60)


def test_players_are_asked_where_they_have_a_choice_only() -> None:
    env = pettingzoo_env.aec_env("kuhn_poker")
    env.reset(seed=1)
    names = env.env.names
    rng = np.random.default_rng(0)
    asked = []
    for agent in env.agent_iter():
        seen, _, over, _, _ = env.last()
        mask = seen["action_mask"]
        asked.append((agent, bool(over)))
        if not over:
            assert mask.sum() == 2
            shown = np.flatnonzero(seen["observation"])
            texts = [(*names.moves, *names.percepts)[k] for k in shown]
            assert any(text.startswith("(dealt ") for text in texts) or agent != asked[0][0]
        env.step(None if over else int(rng.choice(np.flatnonzero(mask))))
    assert asked[0] == ("player1", False)
    assert asked[1] == ("player2", False)


def test_what_was_seen_while_others_chose_is_told_when_one_is_asked() -> None:
    env = pettingzoo_env.aec_env("krieg_tic_tac_toe")
    env.reset(seed=0)
    names = env.env.names
    env.step(names.move("(mark 1 1)"))
    assert env.agent_selection == "oplayer"
    env.step(names.move("(mark 1 1)"))
    seen = env.last()[0]
    shown = [(*names.moves, *names.percepts)[k] for k in np.flatnonzero(seen["observation"])]
    assert shown == ["(mark 1 1)", "refused"]
    env.step(names.move("(mark 2 2)"))
    seen = env.last()[0]
    shown = [(*names.moves, *names.percepts)[k] for k in np.flatnonzero(seen["observation"])]
    assert env.agent_selection == "xplayer"
    assert shown == ["(mark 1 1)", "noop", "your_move"]


PENNIES = """(role even) (role odd) (init (turn 1)) (side heads) (side tails)
(<= (legal ?r (show ?s)) (role ?r) (side ?s))
(<= (sees ?r (shown ?q ?s)) (role ?r) (does ?q (show ?s)))
(<= (next (same)) (does even (show ?s)) (does odd (show ?s))) (<= (next (turn 2)) (true (turn 1)))
(<= terminal (true (turn 2)))
(<= (goal even 100) (true (same))) (<= (goal even 0) (not (true (same))))
(<= (goal odd 0) (true (same))) (<= (goal odd 100) (not (true (same))))"""


def test_who_chooses_later_in_a_turn_does_not_see_what_was_chosen() -> None:
    env = pettingzoo_env.aec_env(read_program(PENNIES))
    seen = []
    for choice in (0, 1):
        env.reset(seed=0)
        env.step(choice)
        assert env.agent_selection == "odd"
        seen.append(env.last()[0])
        env.step(0)
        assert env.rewards == {"even": 100 * (1 - choice), "odd": 100 * choice}
    for part in ("observation", "path", "action_mask"):
        np.testing.assert_array_equal(seen[0][part], seen[1][part])


FORCED = """(role player) (role random) (init (turn 1)) (side heads) (side tails)
(<= (legal random (show ?s)) (side ?s)) (legal player noop)
(<= (next (shown ?s)) (does random (show ?s)))
(<= terminal (true (shown ?s)))
(<= (goal player 60) (true (shown heads))) (<= (goal player 90) (true (shown tails)))"""


def test_a_match_without_any_choice_is_paid_as_all_others() -> None:
    env, other = (
        make(read_program(FORCED)) for make in (pettingzoo_env.aec_env, pettingzoo_env.parallel_env)
    )
    for seed in range(8):
        env.reset(seed=seed)
        paid = []
        for agent in env.agent_iter():
            _, reward, over, _, _ = env.last()
            paid.append((agent, reward, bool(over)))
            env.step(None)
        other.reset(seed=seed)
        (goal,) = other.step({"player": other.env.names.move("noop")})[1].values()
        assert paid == [("player", goal, True)]


def test_an_illegal_action_is_refused_by_name() -> None:
    env = pettingzoo_env.aec_env("kuhn_poker")
    env.reset(seed=1)
    with pytest.raises(IllegalMoveError, match="fold is not legal for player1"):
        env.step(env.env.names.move("fold"))


def test_goals_are_paid_at_the_end() -> None:
    env = pettingzoo_env.parallel_env("kuhn_poker")
    env.reset(seed=5)
    names = env.env.names
    noop, bet, fold = map(names.move, ("noop", "bet", "fold"))
    for actions, goals in (
        ((noop, noop), (0, 0)),
        ((bet, noop), (0, 0)),
        ((noop, fold), (75, 25)),
    ):
        pair = dict(zip(env.agents, actions, strict=True))
        _, rewards, ended, cut, _ = env.step(pair)
        assert rewards == {"player1": goals[0], "player2": goals[1]}
    assert ended == {"player1": True, "player2": True}
    assert cut == {"player1": False, "player2": False}
    assert env.agents == []


def play(env: Any, steps: int, seed: int = 0) -> tuple[float, int]:
    """Uniformly random play; mean reward of the episodes, and how many there were."""
    rng = np.random.default_rng(seed)
    seen, _ = env.reset(seed=seed)
    total, episodes = 0.0, 0
    for _ in range(steps):
        masks = seen["action_mask"]
        weights = rng.random(masks.shape) * masks
        seen, rewards, ended, cut, infos = env.step(weights.argmax(axis=1))
        assert env.observation_space.contains(seen)
        over = ended | cut
        total, episodes = total + float(rewards.sum()), episodes + int(over.sum())
        assert not rewards[~over].any()
        if over.any():
            lane = int(np.argmax(over))
            assert env.single_observation_space.contains(infos["final_obs"][lane])
            assert infos["final_obs"][lane]["path"].any()
            assert not seen["path"][lane].any()
    return total / max(episodes, 1), episodes


def test_role_plays_against_random_players_by_default() -> None:
    env = gymnasium_env.VectorGame("kuhn_poker", "player2", 200)
    mean, episodes = play(env, 40)
    assert episodes > 1500
    # Where both play uniformly player 2 loses 1/8 of a chip; 2 chips lost are 0, 2 won are 100.
    assert abs(mean - 100 * (2 - 1 / 8) / 4) < 4


def test_role_plays_against_a_player_of_ours() -> None:
    env = gymnasium_env.VectorGame("kuhn_poker", "player1", 6, opponents={"player2": "legal"})
    mean, episodes = play(env, 20)
    assert episodes > 20
    assert 0 <= mean <= 100


def test_players_are_told_what_their_role_saw() -> None:
    """HyperPlay finds states for all it is told: were that wrong, it would say so."""
    env = gymnasium_env.VectorGame(
        "krieg_tic_tac_toe", "oplayer", 2, opponents={"xplayer": "hyperplay:n=2"}
    )
    one, _ = play(env, 12, seed=1)
    again, _ = play(env, 12, seed=1)
    assert one == again
    for players in env._others._players:
        assert all(player.choose().is_sound for player in players)


def test_role_cannot_be_its_own_opponent() -> None:
    with pytest.raises(ConfigError, match="can have no opponent"):
        gymnasium_env.VectorGame("kuhn_poker", "player1", opponents={"player1": "legal"})
    with pytest.raises(ConfigError, match="unknown role"):
        gymnasium_env.VectorGame("kuhn_poker", "player7")
