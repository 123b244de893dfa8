"""GAME as pure functions of JAX.

Made from RULES
with the digest DIGEST.

    init()                       the initial state
    legal(state)                 [R, A] bool, each role's legal moves; none when the game is over
    step(state, actions, key)    the state after actions [R]; chance draws from a key of JAX
    observe(state)               [R, A + P] uint8, ones for each role's last move and percepts
    rewards(state)               [R] float32, the goal values when the game is over, else 0
    ended(state)                 bool

Each function takes one state: `jax.vmap` makes it a function of many, `jax.jit` makes it fast. A
state that is over stays as it is. Actions must be legal. `chance(state)` and `play(state, actions,
chance_action)` make moves of chance by hand. `state.fluents` is the whole state, which no role
sees.

Indices refer to `ROLES`, `MOVES`, `CHANCE`, `PERCEPTS` and `FLUENTS`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.custom_batching
import jax.numpy as jnp
import numpy as np

# --- the game ---
ROLES: tuple[str, ...] = ("alone",)
MOVES: tuple[str, ...] = ("wait",)
CHANCE: tuple[str, ...] = ()
PERCEPTS: tuple[str, ...] = ()
FLUENTS: tuple[str, ...] = ("over",)
INITIAL = np.array([False])
# The input of each move of a role, and of chance; -1 for moves that it never has.
MOVE_PLACES = np.array([[2]])
CHANCE_PLACES = np.array([], dtype=np.int32)
# In plain GDL, the percept by which all roles see a move; -1 in other games.
TOLD = np.full((1, 1), -1)
# Gates for legal moves and goals, and for a step: place of the first, and literals of each.
LOOK_PLACES = 3
LOOK: tuple[tuple[int, np.ndarray], ...] = ()
STEP_PLACES = 3
STEP: tuple[tuple[int, np.ndarray], ...] = ()
TERMINAL = np.array([2])
LEGAL: tuple[np.ndarray, ...] = (np.array([1]),)
LEGAL_CHANCE = np.array([], dtype=np.int32)
GOALS: tuple[np.ndarray, ...] = (np.array([2]),)
GOAL_VALUES: tuple[np.ndarray, ...] = (np.array([100.0]),)
NEXT = np.array([1])
SEES: tuple[np.ndarray, ...] = (np.array([], dtype=np.int32),)
# --- its functions ---


class State(NamedTuple):
    """The state of a match.

    Attributes:
        fluents: `[F]` bool.
        moves: `[R]` int32, each role's last move, -1 at the beginning.
        percepts: `[R, P]` bool, each role's last percepts.
    """

    fluents: Any
    moves: Any
    percepts: Any


def _hold(nets: Any, literals: np.ndarray) -> Any:
    """Whether literals hold. A literal is twice a place, plus one if it is inverted."""
    return nets[literals >> 1] ^ (literals & 1).astype(bool)


def _columns(inputs: Any, groups: tuple[tuple[int, np.ndarray], ...], places: int) -> Any:
    """`[places, L]` the values of all places, given `[inputs, L]` the values of the inputs."""
    nets = jnp.zeros((places, inputs.shape[1]), dtype=bool)
    nets = nets.at[1 : 1 + inputs.shape[0]].set(inputs)
    for start, literals in groups:
        gates = jnp.all(nets[literals >> 1] ^ (literals & 1).astype(bool)[:, :, None], axis=1)
        nets = nets.at[start : start + literals.shape[0]].set(gates)
    return nets


def _evaluator(groups: tuple[tuple[int, np.ndarray], ...], places: int) -> Any:
    """A function from the values of the inputs to the values of all places.

    Under `vmap` states are columns, so that a gate reads rows, which lie together in memory.
    """

    def single(inputs: Any) -> Any:
        return _columns(inputs[:, None], groups, places)[:, 0]

    def mapped(axis_size: int, in_batched: Any, inputs: Any) -> Any:
        return _columns(inputs.T, groups, places).T, True

    evaluated = jax.custom_batching.custom_vmap(single)
    evaluated.def_vmap(mapped)
    return evaluated


_evaluate_look = _evaluator(LOOK, LOOK_PLACES)
_evaluate_step = _evaluator(STEP, STEP_PLACES)


def _look(state: State) -> Any:
    """The values of all places that depend on the state only."""
    moves = np.zeros(_NUM_MOVE_INPUTS, dtype=bool)
    return _evaluate_look(jnp.concatenate([state.fluents, moves]))


_NUM_MOVE_INPUTS = int(np.count_nonzero(MOVE_PLACES >= 0) + np.count_nonzero(CHANCE_PLACES >= 0))


def init() -> State:
    """The initial state."""
    return State(
        jnp.asarray(INITIAL),
        jnp.full(len(ROLES), -1, dtype=jnp.int32),
        jnp.zeros((len(ROLES), len(PERCEPTS)), dtype=bool),
    )


def ended(state: State) -> Any:
    """Whether the game is over."""
    return _hold(_look(state), TERMINAL)[0]


def legal(state: State) -> Any:
    """`[R, A]` bool, the legal actions of each role; none when the game is over."""
    nets = _look(state)
    masks = jnp.stack([_hold(nets, literals) for literals in LEGAL])
    return masks & ~_hold(nets, TERMINAL)[0]


def chance(state: State) -> Any:
    """`[C]` bool, the moves of chance, which are equally likely."""
    nets = _look(state)
    return _hold(nets, LEGAL_CHANCE) & ~_hold(nets, TERMINAL)[0]


def rewards(state: State) -> Any:
    """`[R]` float32, goal values when the game is over, else 0."""
    nets = _look(state)
    goals = []
    for literals, values in zip(GOALS, GOAL_VALUES, strict=True):
        holds = jnp.concatenate([_hold(nets, literals), np.array([True])])
        # The first goal that holds counts; without any, 0.
        goals.append(jnp.append(jnp.asarray(values, dtype=jnp.float32), 0.0)[jnp.argmax(holds)])
    return jnp.where(_hold(nets, TERMINAL)[0], jnp.stack(goals), 0.0).astype(jnp.float32)


def play(state: State, actions: Any, chance_action: Any = -1) -> State:
    """The state after actions `[R]` and, if chance moves, a move of chance."""
    moves = jnp.zeros(_NUM_MOVE_INPUTS, dtype=bool)
    first = 1 + len(FLUENTS)
    for role in range(len(ROLES)):
        moves = moves.at[jnp.asarray(MOVE_PLACES)[role, actions[role]] - first].set(True)
    if len(CHANCE):
        moves = moves.at[jnp.asarray(CHANCE_PLACES)[chance_action] - first].set(True)
    nets = _evaluate_step(jnp.concatenate([state.fluents, moves]))
    if (TOLD >= 0).any():
        joint_move = jnp.zeros(len(PERCEPTS), dtype=bool)
        for role in range(len(ROLES)):
            joint_move = joint_move.at[jnp.asarray(TOLD)[role, actions[role]]].set(True)
        percepts = jnp.tile(joint_move, (len(ROLES), 1))
    else:
        percepts = jnp.stack([_hold(nets, literals) for literals in SEES])
    successor = State(_hold(nets, NEXT), jnp.asarray(actions, dtype=jnp.int32), percepts)
    over = ended(state)
    return State(*(jnp.where(over, old, new) for old, new in zip(state, successor, strict=True)))


def step(state: State, actions: Any, key: Any = None) -> State:
    """The state after actions `[R]`; chance moves uniformly, by a key of JAX."""
    if not len(CHANCE):
        return play(state, actions)
    weights = jnp.where(chance(state), 0.0, -jnp.inf)
    # When the game is over chance has no moves, and any draw is ignored.
    weights = jnp.where(ended(state), jnp.zeros_like(weights), weights)
    return play(state, actions, jax.random.categorical(key, weights))


def observe(state: State) -> Any:
    """`[R, A + P]` uint8, ones for each role's last move and percepts."""
    did = jax.nn.one_hot(state.moves, len(MOVES), dtype=jnp.uint8)
    return jnp.concatenate([did, state.percepts.astype(jnp.uint8)], axis=1)
