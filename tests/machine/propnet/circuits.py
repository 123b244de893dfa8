"""Circuits of games for tests, and random walks on them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.normalize import load
from ggp.machine.propnet.build_circuit import build_circuit
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.evaluate import Bits, evaluate, read
from ggp.machine.propnet.ground import ground
from tests.support.games import path_of_shared


@cache
def circuit_of(name: str) -> Circuit:
    """The circuit of a game of ours, or of a shared rulesheet given as `folder/file`."""
    return build_circuit(ground(load(path_of_shared(name) if "/" in name else name)))


class Walk(NamedTuple):
    """States that random matches came by, with the move each role made (if not over).

    Attributes:
        states: `[L, F]` fluents.
        moves: `[L, M]` the moves made, in the order of the nets.
        nets: `[L, P]` what all nets say.
        over: `[L]` terminal, or a role has no move: no move was made.
    """

    states: Bits
    moves: Bits
    nets: Bits
    over: Bits


def random_walk(circuit: Circuit, seed: int, *, lanes: int = 24, depth: int = 40) -> Walk:
    """States of random matches."""
    rng = np.random.default_rng(seed)
    num_fluents = len(circuit.fluents)
    states = np.tile(circuit.initial, (lanes, 1))
    parts = []
    for _ in range(depth):
        idle = np.zeros((len(states), circuit.num_inputs - num_fluents), dtype=np.bool_)
        nets = evaluate(circuit, states, idle)
        moves, stuck = random_moves(circuit, nets, rng)
        over = stuck | read(nets, np.array([circuit.terminal], dtype=np.int32))[:, 0]
        moves[over] = False
        nets = evaluate(circuit, states, moves)
        parts.append(Walk(states, moves, nets, over))
        states = read(nets, circuit.next)[~over]
        if not len(states):
            break
    return Walk(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def random_moves(circuit: Circuit, nets: Bits, rng: np.random.Generator) -> tuple[Bits, Bits]:
    """`[L, M]` one legal move of each role, and `[L]` whether some role has none."""
    chosen = []
    stuck = np.zeros(len(nets), dtype=np.bool_)
    for outputs in circuit.legal:
        legal = read(nets, outputs.literals)
        if not len(outputs.names):
            return np.zeros((len(nets), 0), dtype=np.bool_), ~stuck
        pick = (rng.random(legal.shape) * legal).argmax(axis=1)
        one: NDArray[np.bool_] = np.zeros_like(legal)
        one[np.arange(len(nets)), pick] = True
        chosen.append(one)
        stuck |= ~legal.any(axis=1)
    return np.concatenate(chosen, axis=1), stuck
