"""Circuits of games for tests, and random walks on them."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine.circuit import TRUE, Circuit, Loop, Outputs
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from tests.machine.propnet.evaluate import Bits, evaluate, read
from tests.support.games import path_of_shared

DEALING = """
(role dealer) (role player)
(card red) (card blue)
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
(<= (number ?n) (succ ?m ?n))
(init (step 0)) (init (hand red 0)) (init (hand blue 0))
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= dealing (true (step ?n)) (succ ?n 4))
(<= dealing (true (step ?n)) (succ ?n ?m) (succ ?m 4))
(<= dealing (true (step ?n)) (succ ?n ?l) (succ ?l ?m) (succ ?m 4))
(<= dealing (true (step 0)))
(<= (legal dealer (deal ?c)) (card ?c) dealing)
(<= (legal dealer noop) (not dealing))
(<= (legal player noop) dealing)
(<= (legal player (lose ?c ?n)) (not dealing) (true (hand ?c ?n)) (number ?n))
(<= (legal player (keep ?c)) (not dealing) (card ?c))
(<= (next (hand ?c ?n)) (does dealer (deal ?c)) (true (hand ?c ?m)) (succ ?m ?n))
(<= (next (hand ?c ?n)) (true (hand ?c ?n)) (not (does dealer (deal ?c))) (not (lost ?c)))
(<= (lost ?c) (does player (lose ?c ?n)))
(<= (next (hand ?c ?m)) (does player (lose ?c ?n)) (succ ?m ?n))
(<= terminal (true (step 8)))
(<= (goal dealer 0) (role dealer))
(<= (goal player 100) (true (hand red 2)))
(<= (goal player 50) (true (hand red ?n)) (distinct ?n 2) (true (hand blue 1)))
(<= (goal player 0) (true (hand red ?n)) (distinct ?n 2) (not (true (hand blue 1))))
"""
"""Four cards are dealt, of nine that a hand could have."""


@cache
def dealing() -> Circuit:
    """The circuit of `DEALING`."""
    return build_circuit(ground(normalize(parse(DEALING))))


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
    masks = []
    stuck = np.zeros(len(nets), dtype=np.bool_)
    for outputs in circuit.legal:
        legal = read(nets, outputs.literals)
        mask: NDArray[np.bool_] = np.zeros_like(legal)
        if len(outputs.names):
            pick = (rng.random(legal.shape) * legal).argmax(axis=1)
            mask[np.arange(len(nets)), pick] = True
        masks.append(mask)
        stuck |= ~legal.any(axis=1)
    return np.concatenate(masks, axis=1), stuck


def differences(original: Circuit, optimised: Circuit, walk: Walk) -> list[str]:
    """What two circuits of one game say differently of states and moves of the first."""
    names = [(role, move) for role, o in enumerate(original.legal) for move in o.names]
    kept_moves = {(role, move) for role, o in enumerate(optimised.legal) for move in o.names}
    columns = [place for place, name in enumerate(names) if name in kept_moves]
    messages = [
        f"made {names[i]}" for i in np.flatnonzero(walk.moves.any(axis=0)) if i not in columns
    ]
    place = {name: i for i, name in enumerate(original.fluents)}
    for name in sorted(place.keys() - set(optimised.fluents)):
        holds = walk.states[:, place[name]]
        if holds.any() != (name in optimised.constant) or holds.all() != holds.any():
            messages.append(f"fluent {name}")
    if messages:
        return messages
    states = walk.states[:, [place[name] for name in optimised.fluents]]
    nets = evaluate(optimised, states, walk.moves[:, columns])
    expected, got = (
        outputs_of(original, walk.nets, walk.over),
        outputs_of(optimised, nets, walk.over),
    )
    silent = np.zeros(len(states), dtype=np.bool_)
    for key in sorted(expected.keys() | got.keys()):
        if key[0] == "next" and key not in got:
            continue
        if not np.array_equal(expected.get(key, silent), got.get(key, silent)):
            messages.append(" ".join(map(str, key)))
    return messages


def outputs_of(circuit: Circuit, nets: Bits, over: Bits) -> dict[tuple[str, ...], Bits]:
    """All outputs by name; of lanes in which no move was made only what needs none."""
    terminal = read(nets, np.array([circuit.terminal], dtype=np.int32))[:, 0]
    outputs: dict[tuple[str, ...], Bits] = {("terminal",): terminal}
    successors = read(nets, circuit.next) & ~over[:, None]
    for place, name in enumerate(circuit.fluents):
        outputs["next", name] = successors[:, place]
    for kind, group in (("legal", circuit.legal), ("goal", circuit.goals), ("sees", circuit.sees)):
        for role, role_outputs in zip(circuit.roles, group, strict=True):
            values = read(nets, role_outputs.literals)
            if kind == "sees":
                values &= ~over[:, None]
            for place, name in enumerate(role_outputs.names):
                outputs[kind, role, name] = values[:, place]
    return outputs


def random_circuit(seed: int, *, with_loop: bool = False) -> Circuit:
    """A circuit of a small game that makes no sense: two roles, five fluents, any gates."""
    rng = np.random.default_rng(seed)
    num_fluents, num_moves = 5, 3
    base = 1 + num_fluents + 2 * num_moves
    state_nets = 1 + num_fluents
    gates: list[list[int]] = []

    def literals(nets: list[int], count: int) -> list[int]:
        nets_read = rng.choice(nets, size=min(count, len(nets)), replace=False)
        return sorted(int(2 * net + rng.integers(2)) for net in nets_read)

    states = list(range(1, state_nets))
    everything = list(range(1, base))
    for _ in range(14):
        gates.append(literals(states, int(rng.integers(2, 5))))
        states.append(base + len(gates) - 1)
        everything.append(states[-1])
    loops: tuple[Loop, ...] = ()
    if with_loop:
        # "Not a" and "not b", where a holds if b or a fluent does, and b if a or one does.
        start = len(gates)
        first = 2 * (base + start)
        gates.append([2 * int(rng.integers(1, state_nets)) + 1, first + 2])
        gates.append([2 * int(rng.integers(1, state_nets)) + 1, first])
        loops = (Loop(start, start + 2, np.array([True, True])),)
        states += [base + start, base + start + 1]
        everything += states[-2:]
    for _ in range(24):
        gates.append(literals(everything, int(rng.integers(2, 5))))
        everything.append(base + len(gates) - 1)

    # Few states are terminal, and often a move is always legal: games should not end at once.
    gates.append(literals(states, 4))

    def legal() -> Outputs:
        targets = literals(states[5:], num_moves)
        targets[0] = TRUE if rng.random() < 0.7 else targets[0]
        return Outputs(
            tuple(f"m{place}" for place in range(num_moves)), np.array(targets, np.int32)
        )

    def outputs(nets: list[int], names: list[str]) -> Outputs:
        return Outputs(tuple(names), np.array(literals(nets, len(names)), dtype=np.int32))

    return Circuit(
        roles=("left", "right"),
        fluents=tuple(f"(f {place // 3} {place % 3})" for place in range(num_fluents)),
        initial=rng.random(num_fluents) < 0.4,
        constant=(),
        offsets=np.cumsum([0, *map(len, gates)], dtype=np.int64),
        literals=np.array([x for gate in gates for x in gate], dtype=np.int32),
        loops=loops,
        next=outputs(everything[-24:], ["x"] * num_fluents).literals,
        legal=(legal(), legal()),
        sees=(outputs(everything, ["a", "b"]), outputs(everything, ["a", "b"])),
        goals=(outputs(states, ["0", "50"]), outputs(states, ["0", "50"])),
        terminal=2 * (base + len(gates) - 1),
    )


def reachable(circuit: Circuit) -> Walk:
    """Every reachable state with every legal joint move, and with none where it is over."""
    num_moves = circuit.num_inputs - len(circuit.fluents)
    seen = {circuit.initial.tobytes(): circuit.initial}
    pending = [circuit.initial]
    lanes: list[tuple[Bits, Bits, bool]] = []
    while pending:
        state = pending.pop()
        nets = evaluate(circuit, state[None], np.zeros((1, num_moves), dtype=np.bool_))
        over = bool(read(nets, np.array([circuit.terminal], dtype=np.int32))[0, 0])
        legal = [np.flatnonzero(read(nets, o.literals)[0]).tolist() for o in circuit.legal]
        joint = [] if over else list(product(*legal))
        moves = np.zeros((max(len(joint), 1), num_moves), dtype=np.bool_)
        for lane, joint_move in enumerate(joint):
            first = 0
            for outputs, place in zip(circuit.legal, joint_move, strict=True):
                moves[lane, first + place] = True
                first += len(outputs.names)
        lanes += [(state, move, not joint) for move in moves]
        if joint:
            nets = evaluate(circuit, np.tile(state, (len(moves), 1)), moves)
            for following in read(nets, circuit.next):
                if following.tobytes() not in seen:
                    seen[following.tobytes()] = following
                    pending.append(following)
    states, moves = np.array([x for x, _, _ in lanes]), np.array([x for _, x, _ in lanes])
    return Walk(
        states, moves, evaluate(circuit, states, moves), np.array([over for _, _, over in lanes])
    )
