"""Modules of JAX play as the circuit does, lane by lane."""

from __future__ import annotations

import ast
import importlib.util
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.labs.learning.env.engine import CircuitEngine
from ggp.labs.learning.jax_export import jax_module
from ggp.machine.games import load_program, read_program
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.study.names import names_of
from tests.support.commands import run
from tests.support.effort import THOROUGH
from tests.support.games import GAMES, build_here, machine_of_game

MAX_GATES = 20_000

STEPS = 100_000 if THOROUGH else 2_000

FEW = {"kuhn_poker", "tic_tac_toe"}
"""Games that are compiled with the test command; the compilers of JAX take seconds for each."""

EXPORTED = [game for game in GAMES if game != "kriegspiel"]  # which has more gates

CASES = [game if game in FEW else pytest.param(game, marks=pytest.mark.verify) for game in EXPORTED]


def written(game: str, folder: Path) -> ModuleType:
    """The module of a game, imported."""
    pytest.importorskip("jax")
    path = folder / f"{game}.py"
    path.write_text(jax_module(load_program(game), machine_of_game(game, "propnet")))
    spec = importlib.util.spec_from_file_location(game, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_actions(bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """`[L]` the place of one of the ones of each row, uniformly; 0 where there is none."""
    return np.asarray((rng.random(bits.shape) * bits).argmax(axis=1))


def unpacked(words: np.ndarray, count: int) -> np.ndarray:
    as_bytes = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)
    return np.unpackbits(as_bytes, axis=1, count=count, bitorder="little").astype(bool)


def restarted(over: np.ndarray, new: Any, old: Any) -> np.ndarray:
    """The new values, but the old ones in lanes that are over."""
    return np.asarray(np.where(over.reshape((-1,) + (1,) * (new.ndim - 1)), old, new))


@pytest.mark.parametrize("game", CASES)
def test_module_agrees_with_the_circuit(game: str, tmp_path: Path) -> None:
    module: Any = written(game, tmp_path)
    import jax

    machine = machine_of_game(game, "propnet")
    assert isinstance(machine, PropnetMachine)
    assert machine.circuit.num_gates < MAX_GATES
    names = names_of(load_program(game), machine)
    engine = CircuitEngine(machine, names)
    lanes, rng = min(1000, STEPS // 10), np.random.default_rng(1)
    mapped = {
        name: jax.jit(jax.vmap(getattr(module, name)))
        for name in ("legal", "chance", "ended", "rewards", "observe", "play")
    }
    start = jax.vmap(lambda _: module.init())(np.arange(lanes))
    states, mine = start, engine.initial(lanes)
    num_steps = 0
    while num_steps < STEPS:
        look = engine.look(mine)
        over = (look[0] & 1).astype(bool)
        legal_masks = [
            unpacked(look[a:b].T, size)
            for a, b, size in zip(
                engine.starts[1:],
                engine.starts[2:],
                [len(names.moves)] * len(names.roles) + [len(names.chance)],
                strict=False,
            )
        ]
        np.testing.assert_array_equal(mapped["ended"](states), over)
        legal = np.stack(legal_masks[: len(names.roles)], axis=1) & ~over[:, None, None]
        np.testing.assert_array_equal(mapped["legal"](states), legal)
        rewards = np.zeros((lanes, len(names.roles)), dtype=np.float32)
        ended = np.flatnonzero(over)
        if len(ended):
            rewards[ended] = engine.goals(mine.take(ended))
        np.testing.assert_array_equal(mapped["rewards"](states), rewards)
        actions = np.stack([random_actions(bits, rng) for bits in legal_masks], axis=1)
        by_chance = actions[:, -1] if names.chance else np.full(lanes, -1)
        successors = mapped["play"](states, actions[:, : len(names.roles)], by_chance)
        # A state that is over stays as it is.
        for old, new in zip(states, successors, strict=True):
            np.testing.assert_array_equal(np.asarray(old)[over], np.asarray(new)[over])
        keys = np.zeros(lanes, dtype=np.uint64)
        following, _, seen = engine.play(mine, np.ascontiguousarray(actions.T), keys)
        mine = engine.restarted(following, ended)
        states = successors._make(map(partial(restarted, over), successors, start))
        fluents = unpacked(engine.fluent_words(mine), len(names.fluents))
        np.testing.assert_array_equal(states.fluents, fluents)
        observations = np.asarray(mapped["observe"](states))
        percepts = unpacked(seen.T.reshape(lanes * len(names.roles), -1), len(names.percepts))
        percepts = percepts.reshape(lanes, len(names.roles), -1)
        percepts[over] = False
        np.testing.assert_array_equal(observations[:, :, len(names.moves) :], percepts)
        did = np.arange(len(names.moves)) == actions[:, : len(names.roles), None]
        np.testing.assert_array_equal(
            observations[:, :, : len(names.moves)], did & ~over[:, None, None]
        )
        num_steps += int((~over).sum())


def test_chance_is_uniform_by_keys(tmp_path: Path) -> None:
    module: Any = written("kuhn_poker", tmp_path)
    import jax

    keys = jax.random.split(jax.random.key(0), 6000)
    start = jax.vmap(lambda _: module.init())(keys)
    noop = module.MOVES.index("noop")
    actions = np.full((6000, 2), noop)
    successors = jax.jit(jax.vmap(module.step))(start, actions, keys)
    counts = np.asarray(successors.percepts[:, 0]).sum(axis=0)
    cards = [module.PERCEPTS.index(f"(dealt {card})") for card in ("jack", "queen", "king")]
    assert counts.sum() == 6000
    assert np.all(np.abs(counts[cards] - 2000) < 200)


def test_the_written_module_imports_only_jax_and_numpy() -> None:
    text = jax_module(load_program("leduc_poker"), machine_of_game("leduc_poker", "propnet"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert imported == {"__future__", "typing", "jax", "numpy"}
    assert load_program("leduc_poker").digest in text


def test_command_prints_the_module() -> None:
    result = run("convert", "monty_hall", "--to", "jax")
    assert result.exit_code == 0
    assert "monty_hall.gdl as pure functions of JAX" in result.stdout
    ast.parse(result.stdout)


def test_names_of_a_stranger_are_strings_and_nothing_else() -> None:
    rules = """(role a) (init (b 'x)) (legal a "quote\\) (legal a \'\'\'+f+\'\'\')
    (<= (next (b c)) (true (b ?x))) (<= terminal (true (b c))) (goal a 100)"""
    program = read_program(rules, '"""\nimport os\n"""')
    machine = build_here(program, "propnet")
    tree = ast.parse(jax_module(program, machine))
    names = {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    moves = names["MOVES"]
    assert moves is not None
    assert ast.literal_eval(moves) == names_of(program, machine).moves
    assert any("quote\\" in text for text in ast.literal_eval(moves))
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import)]
    assert {text.split()[1].split(".")[0] for text in imports} == {"jax", "numpy"}


def test_games_without_a_circuit_are_refused() -> None:
    with pytest.raises(MachineError, match="no circuit"):
        jax_module(load_program("kuhn_poker"), machine_of_game("kuhn_poker", "prolog"))


def test_module_may_be_mapped_twice(tmp_path: Path) -> None:
    module: Any = written("kuhn_poker", tmp_path)
    import jax

    keys = jax.random.split(jax.random.key(3), (4, 5))
    starts = jax.vmap(jax.vmap(lambda _: module.init()))(keys)
    actions = np.full((4, 5, 2), module.MOVES.index("noop"))
    nested_turns = jax.jit(jax.vmap(jax.vmap(module.step)))(starts, actions, keys)
    flat = jax.tree.map(lambda leaf: leaf.reshape(20, *leaf.shape[2:]), starts)
    flat_turns = jax.jit(jax.vmap(module.step))(flat, actions.reshape(20, 2), keys.reshape(20))
    for nested, plain in zip(nested_turns, flat_turns, strict=True):
        np.testing.assert_array_equal(np.asarray(nested).reshape(np.asarray(plain).shape), plain)
    single = jax.jit(module.step)(module.init(), actions[0, 0], keys[0, 0])
    np.testing.assert_array_equal(single.fluents, nested_turns.fluents[0, 0])
