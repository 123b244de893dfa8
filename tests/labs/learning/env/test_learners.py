"""Environments of PettingZoo and gymnasium: what their own tests ask, and ours."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError, IllegalMoveError
from ggp.machine.games import read_program

pettingzoo_env = pytest.importorskip("ggp.labs.learning.env.pettingzoo_env")
gymnasium_env = pytest.importorskip("ggp.labs.learning.env.gymnasium_env")
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


def test_who_is_not_asked_has_no_legal_action() -> None:
    env = pettingzoo_env.aec_env("leduc_poker")
    env.reset(seed=1)
    for agent in env.agent_iter():
        seen, _, over, _, _ = env.last()
        (idle,) = set(env.possible_agents) - {agent}
        if over:
            env.step(None)
            continue
        assert seen["action_mask"].any()
        assert not env.observe(idle)["action_mask"].any()
        env.step(env.action_space(agent).sample(seen["action_mask"]))


def test_seeds_are_those_of_pettingzoo() -> None:
    pettingzoo_tests.seed_test(lambda: pettingzoo_env.aec_env("kuhn_poker"), num_cycles=60)


@pytest.mark.parametrize("game", GAMES)
def test_seeds_of_parallel_environments_are_those_of_pettingzoo(game: str) -> None:
    pettingzoo_tests.parallel_seed_test(lambda: pettingzoo_env.parallel_env(game), num_cycles=60)


def test_players_are_asked_where_they_have_a_choice_only() -> None:
    env = pettingzoo_env.aec_env("kuhn_poker")
    env.reset(seed=1)
    names = env.env.names
    rng = np.random.default_rng(0)
    calls = []
    for agent in env.agent_iter():
        seen, _, over, _, _ = env.last()
        mask = seen["action_mask"]
        calls.append((agent, bool(over)))
        if not over:
            assert mask.sum() == 2
            bits = np.flatnonzero(seen["observation"])
            texts = [(*names.moves, *names.percepts)[k] for k in bits]
            assert any(text.startswith("(dealt ") for text in texts) or agent != calls[0][0]
        env.step(None if over else int(rng.choice(np.flatnonzero(mask))))
    assert calls[0] == ("player1", False)
    assert calls[1] == ("player2", False)


def test_percepts_of_turns_without_a_choice_are_observed_at_the_next_choice() -> None:
    env = pettingzoo_env.aec_env("krieg_tic_tac_toe")
    env.reset(seed=0)
    names = env.env.names
    env.step(names.move("(mark 1 1)"))
    assert env.agent_selection == "oplayer"
    env.step(names.move("(mark 1 1)"))
    seen = env.last()[0]
    texts_seen = [(*names.moves, *names.percepts)[k] for k in np.flatnonzero(seen["observation"])]
    assert texts_seen == ["(mark 1 1)", "refused"]
    env.step(names.move("(mark 2 2)"))
    seen = env.last()[0]
    texts_seen = [(*names.moves, *names.percepts)[k] for k in np.flatnonzero(seen["observation"])]
    assert env.agent_selection == "xplayer"
    assert texts_seen == ["(mark 1 1)", "noop", "your_move"]


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
    env, twin = (
        make(read_program(FORCED)) for make in (pettingzoo_env.aec_env, pettingzoo_env.parallel_env)
    )
    for seed in range(8):
        env.reset(seed=seed)
        paid = []
        for agent in env.agent_iter():
            _, reward, over, _, _ = env.last()
            paid.append((agent, reward, bool(over)))
            env.step(None)
        twin.reset(seed=seed)
        (goal,) = twin.step({"player": twin.env.names.move("noop")})[1].values()
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
    """HyperPlay finds states for all its percepts: if they were wrong, its decisions would be
    unsound."""
    env = gymnasium_env.VectorGame(
        "krieg_tic_tac_toe", "oplayer", 2, opponents={"xplayer": "hyperplay:n=2"}
    )
    first_play, _ = play(env, 12, seed=1)
    repeated, _ = play(env, 12, seed=1)
    assert first_play == repeated
    for players in env._opponents._players:
        assert all(player.choose().is_sound for player in players)


MODES = ("NextStep", "SameStep", "Disabled")


def lanes_of(game: str = "kuhn_poker", role: str = "player1", **options: Any) -> Any:
    return gymnasium_env.VectorGame(game, role, 5, **options)


def turns(env: Any, seed: int | list[int | None] | None = 3, steps: int = 12) -> list[Any]:
    """The answers of an environment to some steps of random legal play from a seed on."""
    answers = [env.reset(seed=seed)[0]]
    env.action_space.seed(1)
    for _ in range(steps):
        if env.autoreset_mode.value == "Disabled" and env.env.turn.ended.any():
            answers.append(env.reset(options={"reset_mask": env.env.turn.ended}))
        answers.append(env.step(env.action_space.sample()))
    return answers


def assert_same(first: Any, second: Any) -> None:
    """Nested values with arrays in them are equal."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, list | tuple) or (
        isinstance(first, np.ndarray) and first.dtype.hasobject
    ):
        assert len(first) == len(second)
        for pair in zip(first, second, strict=True):
            assert_same(*pair)
    else:
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("mode", MODES)
def test_lanes_begin_anew_as_the_mode_says(mode: str) -> None:
    env = lanes_of(autoreset_mode=mode)
    assert env.metadata["autoreset_mode"].value == mode
    env.reset(seed=1)
    ended = ended_before = np.zeros(5, dtype=bool)
    for _ in range(40):
        if mode == "Disabled" and ended_before.any():
            with pytest.raises(ConfigError, match="is over: reset it, with options="):
                env.step(env.action_space.sample())
            paths = env.env.turn.paths[:, 0].copy()
            seen, _ = env.reset(options={"reset_mask": ended_before})
            assert not seen["path"][ended_before].any()
            np.testing.assert_array_equal(seen["path"][~ended_before], paths[~ended_before])
        seen, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        assert not truncated.any()
        if mode == "NextStep":
            assert not seen["path"][ended_before].any()
            assert not rewards[ended_before].any()
            assert not terminated[ended_before].any()
            assert seen["path"][terminated].any(axis=(1, 2)).all()
            assert not seen["action_mask"][terminated].any()
        if mode == "SameStep":
            assert not seen["path"][terminated].any()
            assert terminated.any() == ("final_obs" in infos)
        ended_before, ended = terminated, ended | terminated
    assert ended.all()


def single_lane() -> Any:
    """One lane as an environment of gymnasium, for its own vector environment."""

    class Lane(gymnasium_env.gymnasium().Env):  # type: ignore[misc]
        def __init__(self) -> None:
            self.lane = gymnasium_env.VectorGame("meier", "player1", 1, autoreset_mode="Disabled")
            self.observation_space = self.lane.single_observation_space
            self.action_space = self.lane.single_action_space

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            seen, infos = self.lane.reset(seed=seed)
            return {part: values[0] for part, values in seen.items()}, infos

        def step(self, action: Any) -> Any:
            seen, *answers, infos = self.lane.step(np.array([action]))
            first = {part: values[0] for part, values in seen.items()}
            return (first, *(values[0] for values in answers), infos)

    return Lane()


@pytest.mark.parametrize("mode", MODES)
def test_lanes_do_what_a_vector_environment_of_gymnasium_does(mode: str) -> None:
    vector = gymnasium_env.gymnasium().vector
    ours = gymnasium_env.VectorGame("meier", "player1", 3, autoreset_mode=mode)
    theirs = vector.SyncVectorEnv([single_lane] * 3, autoreset_mode=mode)
    assert_same(ours.reset(seed=[4, 5, 6]), theirs.reset(seed=[4, 5, 6]))
    for turn in range(40):
        if mode == "Disabled" and (ended := ours.env.turn.ended).any():
            answers = [lane.reset(options={"reset_mask": ended}) for lane in (ours, theirs)]
            assert_same(*answers)
        if turn == 9:
            mask, seeds = np.array([True, False, True]), [1, 2, None]
            answers = [
                lane.reset(seed=seeds, options={"reset_mask": mask}) for lane in (ours, theirs)
            ]
            assert_same(*answers)
        actions = ours.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions))


def test_all_modes_play_the_same_episodes() -> None:
    """Players here choose by rule, so a skipped turn changes no random draw."""
    scores = []
    for mode in MODES:
        env = lanes_of("meier", "player1", autoreset_mode=mode)
        seen, _ = env.reset(seed=4)
        paid: list[list[float]] = [[] for _ in range(5)]
        while min(map(len, paid)) < 4:
            if mode == "Disabled" and env.env.turn.ended.any():
                seen, _ = env.reset(options={"reset_mask": env.env.turn.ended})
            mask = seen["action_mask"]
            seen, rewards, terminated, _, _ = env.step(mask.argmax(axis=1))
            for lane in np.flatnonzero(terminated).tolist():
                paid[lane].append(float(rewards[lane]))
        scores.append([episode[:4] for episode in paid])
    assert scores[0] == scores[1] == scores[2]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match="autoreset_mode must be one of NextStep, SameStep"):
        lanes_of(autoreset_mode="Never")


@pytest.mark.parametrize(
    "wrapper",
    ["FlattenObservation", "RecordEpisodeStatistics", "DtypeObservation", "FilterObservation"],
)
def test_wrappers_of_gymnasium_take_it(wrapper: str) -> None:
    wrappers = gymnasium_env.gymnasium().wrappers.vector
    arguments: dict[str, list[Any]] = {
        "FilterObservation": [["observation"]],
        "DtypeObservation": [np.float32],
    }
    env = lanes_of(autoreset_mode="NextStep")
    if wrapper == "DtypeObservation":
        env = wrappers.FlattenObservation(env)
    env = getattr(wrappers, wrapper)(env, *arguments.get(wrapper, []))
    env.reset(seed=2)
    has_statistics = False
    for _ in range(20):
        seen, _, _, _, infos = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        has_statistics = has_statistics or "episode" in infos
    assert has_statistics == (wrapper == "RecordEpisodeStatistics")


def test_a_lane_with_a_seed_of_its_own_plays_as_the_only_one() -> None:
    together = lanes_of("meier", "player1")
    seeds = [7, 8, 7, 9, 8]
    seen, _ = together.reset(seed=seeds)
    singles = []
    for seed in seeds:
        env = gymnasium_env.VectorGame("meier", "player1", 1)
        singles.append((env, env.reset(seed=seed)[0]))
    for _ in range(20):
        seen, *_ = together.step(seen["action_mask"].argmax(axis=1))
        singles = [
            (env, env.step(observation["action_mask"].argmax(axis=1))[0])
            for env, observation in singles
        ]
        for lane, (_, observation) in enumerate(singles):
            np.testing.assert_array_equal(seen["path"][lane], observation["path"][0])


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ([1, 2], "5 lanes need as many seeds, not 2"),
        ([1, 2, 3, 4, "five"], "a seed must be a whole number"),
        ([1, 2, 3, 4, 5.5], "a seed must be a whole number"),
        ("seven", "a seed must be a whole number"),
        (b"seven", "a seed must be a whole number"),
        (-1, "a seed must be a whole number from 0"),
        (1.5, "a seed must be a whole number"),
    ],
)
def test_wrong_seeds_are_refused_and_change_nothing(seed: Any, message: str) -> None:
    env = lanes_of()
    first = turns(env)
    with pytest.raises(ConfigError, match=message):
        env.reset(seed=seed)
    assert_same(turns(env), first)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([True] * 5, "an array of 5 truth values"),
        (np.ones(4, dtype=bool), "an array of 5 truth values"),
        (np.ones(5), "an array of 5 truth values"),
        (np.zeros(5, dtype=bool), "selects no lane"),
    ],
)
def test_wrong_masks_are_refused(mask: Any, message: str) -> None:
    env = lanes_of()
    env.reset(seed=0)
    with pytest.raises(ConfigError, match=message):
        env.reset(options={"reset_mask": mask})


def test_a_refused_step_leaves_the_opponents_as_they_were() -> None:
    env = gymnasium_env.VectorGame(
        "tic_tac_toe", "xplayer", 2, opponents={"oplayer": "hyperplay:n=2,states=100"}
    )
    seen, _ = env.reset(seed=5)
    seen, *_ = env.step(seen["action_mask"].argmax(axis=1))
    twin = copy.deepcopy(env)
    with pytest.raises(IllegalMoveError):
        env.step(seen["action_mask"].argmin(axis=1))
    for _ in range(6):
        actions = seen["action_mask"].argmax(axis=1)
        step = env.step(actions)
        assert_same(list(step), list(twin.step(actions)))
        seen = step[0]


@pytest.mark.parametrize("kind", [pettingzoo_env.parallel_env, pettingzoo_env.aec_env])
def test_wrong_actions_of_agents_are_refused(kind: Any) -> None:
    env = kind("kuhn_poker")
    with pytest.raises(ConfigError, match="call reset first"):
        env.step({} if kind is pettingzoo_env.parallel_env else 0)
    env.reset(seed=0)
    if kind is pettingzoo_env.parallel_env:
        with pytest.raises(ConfigError, match="there is no action of player2"):
            env.step({"player1": 0})
        with pytest.raises(ConfigError, match="must be a whole number, not None"):
            env.step({"player1": 0, "player2": None})
    else:
        with pytest.raises(ConfigError, match="must be a whole number, not None"):
            env.step(None)


def test_masks_and_seeds_together_begin_some_lanes_with_a_seed() -> None:
    env = lanes_of("meier", "player1")
    seen, _ = env.reset(seed=5)
    for _ in range(3):
        seen, *_ = env.step(seen["action_mask"].argmax(axis=1))
    mask = np.array([True, False, True, False, False])
    paths = seen["path"].copy()
    seen, _ = env.reset(seed=[11, None, None, None, None], options={"reset_mask": mask})
    assert not seen["path"][mask].any()
    np.testing.assert_array_equal(seen["path"][~mask], paths[~mask])
    single = gymnasium_env.VectorGame("meier", "player1", 1)
    observation, _ = single.reset(seed=11)
    for _ in range(6):
        seen, *_ = env.step(seen["action_mask"].argmax(axis=1))
        observation, *_ = single.step(observation["action_mask"].argmax(axis=1))
        np.testing.assert_array_equal(seen["path"][0], observation["path"][0])


ENVIRONMENTS = {
    "lanes": lambda: lanes_of(),
    "opponents": lambda: lanes_of(opponents={"player2": "hyperplay:n=2,states=100"}),
    "on Prolog": lambda: lanes_of(backend="prolog", max_turns=9),
    "threads": lambda: lanes_of(threads=2),
}


@pytest.mark.parametrize(
    "actions", [[0, 0], [0.0] * 5, [None] * 5, [[0], [0, 0]], np.zeros(4, dtype=np.int64)]
)
@pytest.mark.parametrize("opponents", [{}, {"player2": "legal"}])
def test_wrong_actions_are_refused(actions: Any, opponents: dict[str, str]) -> None:
    env = lanes_of(opponents=opponents)
    with pytest.raises(ConfigError, match="call reset first"):
        env.step(env.action_space.sample())
    env.reset(seed=np.array(3))
    with pytest.raises(ConfigError, match="actions must be 5 whole numbers, not "):
        env.step(actions)
    env.step(env.action_space.sample().astype(np.uint64))


def test_a_shallow_copy_shares_nothing_that_is_written() -> None:
    env = lanes_of().env
    env.reset(1)
    copied = copy.copy(env)
    env.step(env.sample_legal())
    assert not copied.turn.paths.any()


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("copied_by", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_the_original_does(name: str, copied_by: Any) -> None:
    env = ENVIRONMENTS[name]()
    turns(env, steps=3)
    copied = copied_by(env)
    assert copied.env is not env.env
    for _ in range(8):
        step = env.step(env.action_space.sample())
        assert_same(copied.step(copied.action_space.sample()), step)
    assert_same(turns(copied, None), turns(env, None))


@pytest.mark.parametrize("kind", ["aec_env", "parallel_env"])
@pytest.mark.parametrize("copied_by", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_of_environments_of_pettingzoo_go_on(kind: str, copied_by: Any) -> None:
    def step(env: Any) -> Any:
        if kind == "parallel_env":
            return env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        env.step(env.action_space(env.agent_selection).sample())
        return env.last(), env.agent_selection

    env = getattr(pettingzoo_env, kind)("krieg_tic_tac_toe")
    env.reset(seed=1)
    for agent in env.agents:
        env.action_space(agent).seed(2)
    for _ in range(2):
        step(env)
    copied = copied_by(env)
    for _ in range(2):
        assert_same(step(copied), step(env))
        assert_same(copied.state(), env.state())


def test_an_environment_can_be_unpickled_in_another_process(tmp_path: Any) -> None:
    env = lanes_of()
    turns(env, steps=3)
    (tmp_path / "env").write_bytes(pickle.dumps(env))
    env.action_space.seed(9)
    (tmp_path / "wanted").write_bytes(pickle.dumps(env.step(env.action_space.sample())[0]))
    code = (
        "import pickle, sys; import numpy as np\n"
        "env, wanted = (pickle.load(open(f'{sys.argv[1]}/{name}', 'rb'))"
        " for name in ('env', 'wanted'))\n"
        "env.action_space.seed(9)\n"
        "seen = env.step(env.action_space.sample())[0]\n"
        "assert all(np.array_equal(seen[key], wanted[key]) for key in wanted)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


@pytest.mark.parametrize("kind", ["gymnasium", "parallel_env", "aec_env"])
def test_without_a_seed_every_environment_plays_its_own_episodes(kind: str) -> None:
    def dealt() -> Any:
        if kind == "gymnasium":
            env = gymnasium_env.VectorGame("kuhn_poker", "player1", 64)
            env.reset()
            return env.env.seeds.tolist()
        env = getattr(pettingzoo_env, kind)("kuhn_poker")
        env.reset()
        return env.env.seeds.tolist()

    assert dealt() != dealt()


def test_role_cannot_be_its_own_opponent() -> None:
    with pytest.raises(ConfigError, match="can have no opponent"):
        gymnasium_env.VectorGame("kuhn_poker", "player1", opponents={"player1": "legal"})
    with pytest.raises(ConfigError, match="unknown role"):
        gymnasium_env.VectorGame("kuhn_poker", "player7")
