"""An environment agrees with the Prolog machine, whatever the neighbours of a lane do."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError, IllegalMoveError, MachineError
from ggp.labs.learning.env import Environment, Episodes, Names, Turn, make, names_of
from ggp.machine.games import load_program, read_program
from tests.support.effort import rarely
from tests.support.games import MODEST_GAMES, build_here, machine_of_game

ARRAYS = (
    *("rewards", "terminated", "truncated", "turns", "episodes", "moves", "mask_bits"),
    *("percept_bits", "paths", "masks", "observations", "state_tensor"),
)


def environment(
    game: str,
    lanes: int,
    *,
    backend: str = "propnet",
    names: Names | None = None,
    **options: Any,
) -> Environment:
    machine = machine_of_game(game, backend)
    threads = options.pop("threads", 1)
    episodes = Episodes(**{"max_turns": 40, "max_percepts": 4} | options)
    return Environment(load_program(game), machine, lanes, episodes, threads=threads, names=names)


@cache
def names(game: str) -> Names:
    return names_of(load_program(game), machine_of_game(game, "propnet"))


def assert_same(first: Turn, second: Turn, lanes: slice = slice(None)) -> None:
    for name in ARRAYS:
        array, expected = getattr(first, name)[lanes], getattr(second, name)
        assert array.dtype == expected.dtype, name
        np.testing.assert_array_equal(array, expected, err_msg=name)


@pytest.mark.parametrize("game", rarely(MODEST_GAMES, {"breakthrough"}))
def test_every_array_agrees_with_prolog(game: str) -> None:
    fast = environment(game, 6)
    slow = environment(game, 6, backend="prolog", names=names(game))
    assert_same(fast.reset(3), slow.reset(3))
    for _ in range(12):
        actions = fast.sample_legal()
        assert_same(fast.step(actions), slow.step(actions))


@pytest.mark.parametrize("game", ["kuhn_poker", "krieg_tic_tac_toe", "tic_tac_toe"])
def test_lanes_that_wait_or_are_cut_off_agree_with_prolog(game: str) -> None:
    options: dict[str, Any] = {"restarts": False, "max_turns": 6}
    fast = environment(game, 9, **options)
    slow = environment(game, 9, backend="prolog", names=names(game), **options)
    assert_same(fast.reset(4), slow.reset(4))
    for step in range(20):
        actions = fast.sample_legal(step)
        turn = fast.step(actions)
        assert_same(turn, slow.step(actions))
        if step % 3 == 2:
            over = np.flatnonzero(turn.ended)[::2]
            assert_same(fast.restart(over), slow.restart(over))


ODD_GOALS = """(role a) (role b) (init start) (<= terminal (not (true start)))
(<= (legal ?r (say ?n)) (role ?r) (number ?n)) (number 1) (number 2) (number 3) (number 4)
(<= (next (said ?n)) (does a (say ?n))) (<= (goal a 70) (true (said 1)))
(<= (goal a 30) (or (true (said 1)) (true (said 2)))) (<= (goal a 130) (true (said 4)))
(goal b 50) (goal b 50)"""


def test_several_no_and_odd_goal_values_are_those_of_the_machine() -> None:
    program = read_program(ODD_GOALS)
    machines = [build_here(program, backend) for backend in ("propnet", "prolog")]
    numbered = names_of(program, machines[0])
    fast, slow = (
        Environment(program, machine, 4, Episodes(max_turns=3), names=numbered)
        for machine in machines
    )
    fast.reset(0), slow.reset(0)
    said = [[numbered.move(f"(say {n})"), numbered.move("(say 1)")] for n in (1, 2, 3, 4)]
    turn = fast.step(np.array(said))
    assert turn.rewards.tolist() == [[70, 50], [30, 50], [0, 50], [130, 50]]
    assert_same(turn, slow.step(np.array(said)))
    machines[1].close()


def test_random_moves_of_players_are_those_of_every_backend() -> None:
    fast = environment("krieg_tic_tac_toe", 4)
    slow = environment("krieg_tic_tac_toe", 4, backend="prolog", names=names("krieg_tic_tac_toe"))
    fast.reset(1), slow.reset(1)
    actions = np.full((4, 2), -1)
    for _ in range(20):
        assert_same(fast.step(actions), slow.step(actions))


def test_arrays_hold_the_same_facts_as_texts_of_a_replay() -> None:
    """An oracle that knows nothing of environments: the machine, asked for texts."""
    game, lanes = "phantom_connect_four", 5
    env = environment(game, lanes, restarts=False)
    machine = machine_of_game(game, "prolog")
    turn = env.reset(2)
    states = machine.initial(lanes)
    paths: list[list[list[str]]] = [[[], []] for _ in range(lanes)]
    for _ in range(8):
        actions = env.sample_legal()
        texts = [[env.names.moves[action] for action in row] for row in actions]
        joint = np.array([[machine.move_id(text) for text in row] for row in texts])
        stepped = machine.step(states, joint)
        states, turn = stepped.states, env.step(actions)
        for lane in range(lanes):
            fluents_held = [env.names.fluents[f] for f in np.flatnonzero(turn.state_tensor[lane])]
            assert tuple(sorted(fluents_held)) == machine.fluents(states)[lane]
            for role in range(2):
                seen = machine.percept_texts(int(stepped.percepts[lane, role]))
                paths[lane][role] += [texts[lane][role], *seen]
                tokens = turn.paths[lane, role][turn.paths[lane, role] > 0]
                assert [env.names.token_text(token) for token in tokens] == paths[lane][role]
                bits = np.flatnonzero(turn.observations[lane, role])
                texts_of_bits = (*env.names.moves, *env.names.percepts)
                assert [texts_of_bits[k] for k in bits] == [texts[lane][role], *seen]
                legal = machine.legal(states, role)[lane].tolist()
                legal_texts = sorted(map(machine.move_text, legal))
                mask = np.flatnonzero(turn.masks[lane, role])
                assert [env.names.moves[k] for k in mask] == legal_texts


@pytest.mark.parametrize("game", ["kuhn_poker", "krieg_tic_tac_toe", "tic_tac_toe"])
def test_lane_does_not_depend_on_its_neighbours_or_their_number(game: str) -> None:
    large = environment(game, 1030, threads=3)
    small = environment(game, 70)
    single = environment(game, 1)
    assert_same(large.reset(7), small.reset(7), slice(70))
    single.reset(7)
    for step in range(15):
        turn = large.step(large.sample_legal(step))
        assert_same(turn, small.step(small.sample_legal(step)), slice(70))
        assert_same(turn, single.step(single.sample_legal(step)), slice(1))


def test_neighbours_may_do_something_else() -> None:
    env, changed_env = environment("kuhn_poker", 8), environment("kuhn_poker", 8)
    env.reset(1), changed_env.reset(1)
    for _ in range(10):
        actions, changed = env.sample_legal(), changed_env.sample_legal(1)
        changed[3] = actions[3]
        plain_turn, two = env.step(actions), changed_env.step(changed)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(plain_turn, name)[3], getattr(two, name)[3])


def test_a_reset_discards_all_earlier_matches() -> None:
    env, fresh = environment("kuhn_poker", 20), environment("kuhn_poker", 20)
    env.reset(1)
    for _ in range(3):
        env.step(env.sample_legal())
    assert_same(env.reset(2), fresh.reset(2))
    for _ in range(5):
        assert_same(env.step(env.sample_legal()), fresh.step(fresh.sample_legal()))


def test_the_seed_decides_everything() -> None:
    env = environment("leduc_poker", 30)

    def match_paths(seed: int) -> list[np.ndarray]:
        env.reset(seed)
        return [env.step(env.sample_legal()).paths.copy() for _ in range(12)]

    first, repeated, reseeded = match_paths(4), match_paths(4), match_paths(5)
    assert all(map(np.array_equal, first, repeated))
    assert not all(map(np.array_equal, first, reseeded))


def test_lanes_of_other_seeds_play_other_matches() -> None:
    env = environment("krieg_tic_tac_toe", 64)
    paths = set()
    for seed in range(8):
        env.reset(seed)
        for _ in range(5):
            turn = env.step(env.sample_legal())
        paths |= {path.tobytes() for path in turn.paths[:, 0]}
    # Were lanes of one seed those of another, there were 64.
    assert len(paths) > 300


def test_chance_is_uniform() -> None:
    env = environment("kuhn_poker", 6000)
    env.reset(11)
    turn = env.step(np.full((6000, 2), -1))
    cards = [env.names.percept(f"(dealt {card})") for card in ("jack", "queen", "king")]
    seen = turn.observations[:, :, len(env.names.moves) :][:, :, cards]
    deals = np.einsum("li,lj->ij", seen[:, 0].astype(int), seen[:, 1].astype(int))
    assert np.all(np.diag(deals) == 0)
    # 1,000 are expected of each; five standard deviations are 144.
    assert np.all(np.abs(deals[~np.eye(3, dtype=bool)] - 1000) < 144)


def test_sampled_actions_are_legal_and_uniform() -> None:
    env = environment("tic_tac_toe", 9000)
    turn = env.reset(0)
    actions = env.sample_legal()
    assert turn.masks[np.arange(9000)[:, None], np.arange(2), actions].all()
    counts = np.bincount(actions[:, 0], minlength=len(env.names.moves))
    noop = env.names.move("noop")
    assert counts[noop] == 0
    assert np.all(np.abs(np.delete(counts, noop) - 1000) < 150)
    assert np.all(actions[:, 1] == noop)
    assert not np.array_equal(actions, env.sample_legal(1))


def test_legal_actions_are_the_ones_of_the_mask() -> None:
    env = environment("breakthrough", 3)
    env.reset(0)
    turn = env.step(env.sample_legal())
    for lane in range(3):
        for role in range(2):
            listed = turn.legal[2 * lane + role]
            assert listed.tolist() == np.flatnonzero(turn.masks[lane, role]).tolist()


def test_lanes_begin_anew_by_themselves() -> None:
    env = environment("kuhn_poker", 50)
    start = env.reset(1)
    initial = start.state_tensor.copy()
    for _ in range(4):
        turn = env.step(env.sample_legal())
        over = turn.terminated
        assert np.all(turn.turns[over] == 0)
        assert np.all(turn.paths[over] == 0)
        assert np.all(turn.observations[over] == 0)
        np.testing.assert_array_equal(turn.state_tensor[over], initial[over])
        assert np.all(turn.rewards[over].sum(axis=1) == 100)
        assert np.all(turn.rewards[~over] == 0)
    assert over.any()
    assert turn.episodes.min() >= 1
    assert not turn.truncated.any()


def test_lanes_wait_to_begin_anew_where_that_is_asked_for() -> None:
    env = environment("kuhn_poker", 40, restarts=False)
    env.reset(1)
    for _ in range(4):
        turn = env.step(env.sample_legal())
    assert turn.terminated.all()
    assert not turn.masks.any()
    assert np.all(env.sample_legal() == -1)
    paths = turn.paths.copy()
    waiting = env.step(np.full((40, 2), -1))
    assert waiting.terminated.all()
    assert not waiting.rewards.any()
    np.testing.assert_array_equal(waiting.paths, paths)
    restarted = np.array([3, 17])
    turn_again = env.restart(restarted)
    assert np.flatnonzero(~turn_again.ended).tolist() == restarted.tolist()
    assert np.all(turn_again.episodes[restarted] == 1)
    assert np.all(turn_again.turns[restarted] == 0)
    assert not env.restart().ended.any()


def test_an_illegal_action_changes_nothing() -> None:
    env = environment("tic_tac_toe", 3, threads=2)
    start = env.reset(0)
    wrong = env.sample_legal()
    wrong[2, 1] = env.names.move("(mark 1 1)")
    with pytest.raises(IllegalMoveError, match=r"in lane 2, \(mark 1 1\) is not legal for oplayer"):
        env.step(wrong)
    assert_same(copy.deepcopy(env).turn, start)  # made anew from its arrays
    wrong[2, 1] = 99
    with pytest.raises(IllegalMoveError, match="action 99"):
        env.step(wrong)
    with pytest.raises(ConfigError, match=r"shape \(3, 2\)"):
        env.step(np.zeros((3, 1), dtype=np.int64))


def test_long_matches_are_cut_off_and_say_so() -> None:
    env = environment("tic_tac_toe", 4, max_turns=3)
    env.reset(0)
    assert not env.is_proved
    for _ in range(3):
        turn = env.step(env.sample_legal())
    assert turn.truncated.all()
    assert not turn.terminated.any()
    assert not turn.rewards.any()
    assert np.all(turn.episodes == 1)


def test_one_role_is_asked_and_the_others_move_at_random() -> None:
    env = environment("krieg_tic_tac_toe", 400, roles=["oplayer"], max_turns=27)
    turn = env.reset(5)
    assert turn.masks.shape == (400, 1, len(env.names.moves))
    all_roles = environment("krieg_tic_tac_toe", 400, max_turns=27)
    all_roles.reset(5)
    # The one who is not asked draws as it does when it is left to.
    for _ in range(10):
        actions = env.sample_legal()
        turn = env.step(actions)
        joint = np.concatenate([np.full((400, 1), -1), actions], axis=1)
        whole = all_roles.step(joint)
        np.testing.assert_array_equal(turn.observations[:, 0], whole.observations[:, 1])
        np.testing.assert_array_equal(turn.state_tensor, whole.state_tensor)


def test_more_percepts_than_there_is_room_for_are_told() -> None:
    env = environment("tic_tac_toe", 2, max_percepts=1)
    env.reset(0)
    with pytest.raises(MachineError, match="max_percepts"):
        env.step(env.sample_legal())
    # Nothing of the turn that failed is left.
    assert not env.reset(1).paths.any()


@pytest.mark.verify
def test_environment_without_paths_needs_no_bound() -> None:
    env = environment("phantom_ttt", 3, paths=False, max_turns=None)
    assert env.max_turns == 1000
    env.reset(0)
    assert env.step(env.sample_legal()).paths.shape == (3, 2, 0, 0)
    with pytest.raises(ConfigError, match="give max_turns"):
        environment("phantom_ttt", 3, max_turns=None)


def test_games_without_a_circuit_have_names_by_what_rules_say() -> None:
    program = load_program("krieg_tic_tac_toe")
    circuit_names = names("krieg_tic_tac_toe")
    prolog_names = names_of(program, machine_of_game("krieg_tic_tac_toe", "prolog"))
    assert set(circuit_names.moves) <= set(prolog_names.moves)
    assert set(circuit_names.percepts) <= set(prolog_names.percepts)
    assert set(circuit_names.fluents) <= set(prolog_names.fluents)
    env = environment("krieg_tic_tac_toe", 3, backend="prolog")
    fast = environment("krieg_tic_tac_toe", 3)
    turn, expected = env.reset(0), fast.reset(0)
    for _ in range(10):
        actions = fast.sample_legal()
        texts = [[fast.names.moves[action] for action in row] for row in actions]
        turn = env.step(np.array([[env.names.move(text) for text in row] for row in texts]))
        expected = fast.step(actions)
        np.testing.assert_array_equal(turn.rewards, expected.rewards)
        columns = [env.names.fluent(text) for text in fast.names.fluents]
        np.testing.assert_array_equal(turn.state_tensor[:, columns], expected.state_tensor)


def test_terms_that_grow_cannot_be_numbered() -> None:
    rules = """(role a) (init (n 0)) (<= (next (n (s ?x))) (true (n ?x))) (legal a wait)
    (<= terminal (true (n (s (s (s 0)))))) (goal a 100)"""
    program = read_program(rules)
    machine = build_here(program, "prolog")
    with pytest.raises(ConfigError, match="too many to be numbered"):
        Environment(program, machine, 1, Episodes(max_turns=5))
    machine.close()


def test_digest_is_that_of_rules_and_names() -> None:
    assert (
        names("kuhn_poker").digest
        == names_of(
            load_program("kuhn_poker"), build_here(load_program("kuhn_poker"), "propnet")
        ).digest
    )
    assert names("kuhn_poker").digest != names("leduc_poker").digest


@pytest.mark.parametrize("lanes", [np.array([True, False]), np.array([2]), np.array([0.5])])
def test_lanes_that_do_not_exist_are_refused_and_nothing_has_changed(lanes: np.ndarray) -> None:
    env, twin = environment("kuhn_poker", 2), environment("kuhn_poker", 2)
    env.reset(3), twin.reset(3)
    with pytest.raises(ConfigError, match="lanes"):
        env.reset(4, lanes)
    with pytest.raises(ConfigError, match="lanes"):
        env.restart(lanes)
    assert_same(env.step(env.sample_legal()), twin.step(twin.sample_legal()))


def test_seeds_may_be_an_array() -> None:
    env = environment("kuhn_poker", 2)
    assert_same(copy.deepcopy(env).reset(np.array([4, 5])), env.reset([4, 5]))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown move"):
        names("kuhn_poker").move("chek")
    with pytest.raises(ConfigError, match="unknown role"):
        make("kuhn_poker", roles=["player3"])
    with pytest.raises(ConfigError, match="lanes"):
        make("kuhn_poker", 0)
    with pytest.raises(ConfigError, match="lanes must be a whole number from 1, not '2'"):
        make("kuhn_poker", "2")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no rules to read"):
        make("openspiel:kuhn_poker")
