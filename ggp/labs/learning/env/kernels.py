"""Kernels of an environment: choose actions, make and record turns, unpack bits.

They read and write the looks and percepts of an `Engine`, and fill in the arrays of a `Turn`. Bits
are packed as everywhere: bit b of word w is index `64 * w + b`. A *look* at L lanes is
`[words, L]`; that neighbours in memory are lanes lets a processor take several at once. Its first
words say whether the game is over (lowest bit), and which goal values hold; then come the legal
moves of each *mover*: the players, followed by `random` if its moves are listed. There are M
movers; R of them are players, who get percepts.

Rule: a random number is a function of the seed, the lane, its episode, the turn and the mover, and
of nothing else. So a lane plays the same whatever the number of lanes and threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    splat,
    spread_bits,
    store,
    words_of,
)
from ggp.machine.mixing import GOLDEN, finalised
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.lanes.packing import load_block, store_columns
from ggp.machine.propnet.play.kernels.tapes import Query, Wires

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]

FINE = -1
"""Kernels return this if nothing is wrong, otherwise the index of the fault."""

_ALL, _LOW = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0xFFFFFFFF)
_NONE = np.uint64(0)


@inlined
def _mixed(key: Any) -> Any:
    """64 bits that depend on all bits of a key; outside kernels, for arrays."""
    return finalised(key + GOLDEN)


def lane_keys(seeds: U64, lane_numbers: I64) -> U64:
    """`[L]` the keys of all draws of each lane, from its seed and its number."""
    # The seed is mixed before the lane is added: lane 1 of seed 0 must not be lane 0 of seed 1.
    return np.asarray(_mixed(_mixed(seeds) ^ lane_numbers.astype(np.uint64)))


@inlined
def _draw_bit(words: U64, lane: int, key: np.uint64) -> int:
    """The index of a set bit of a lane, drawn uniformly; -1 if none is set. `words`: `[W, L]`.

    A product's high half is the number drawn, its low half says whether to draw again (Lemire,
    "Fast random integer generation in an interval", 2019).
    """
    total = 0
    for w in range(len(words)):
        total += count_ones(words[w, lane])
    if total == 0:
        return -1
    key = _mixed(key)
    product = (key >> np.uint64(32)) * np.uint64(total)
    while product & _LOW < (_LOW + np.uint64(1)) % np.uint64(total):
        key = _mixed(key)
        product = (key >> np.uint64(32)) * np.uint64(total)
    w, rank = 0, int(product >> np.uint64(32))
    num_ones = count_ones(words[w, lane])
    while rank >= num_ones:
        rank -= num_ones
        w += 1
        num_ones = count_ones(words[w, lane])
    return 64 * w + int(_place_of(words[w, lane], np.uint64(rank)))


@inlined
def _place_of(bits: np.uint64, rank: np.uint64) -> np.uint64:
    """The index of a set bit, given the number of those below it."""
    # Halved until one bit is left, without branches, which random numbers would mispredict.
    place, size = np.uint64(0), np.uint64(32)
    for _ in range(6):
        low = np.uint64(count_ones(bits & ((np.uint64(1) << size) - np.uint64(1))))
        above = np.uint64(rank >= low)
        rank -= low * above
        bits >>= size * above
        place += size * above
        size >>= np.uint64(1)
    return place


@inlined
def _draw_all(words: U64, keys: U64, mover: int, live: Bools, actions: I64) -> int:
    """Draw a legal action in every lane where a mover's action is -1.

    Args:
        words: `[W, L]` its legal moves; `keys`: `[L]`.
        live: `[L]` lanes that play on; in the others, 0 is filled in.
        actions: `[L]`, filled in.

    Returns:
        `FINE`, or the first lane without a legal move, where -1 remains.
    """
    out_of_line()
    place, odd = np.uint64(mover), np.uint64(len(words) != 1)
    # One word is drawn from without branches, so that the processor does it for several lanes.
    for lane in range(np.uint64(0) if odd else np.uint64(len(keys))):
        bits = words[np.uint64(0), lane]
        total = np.uint64(count_ones(bits))
        product = (_mixed(keys[lane] ^ place) >> np.uint64(32)) * total
        drawn = np.int64(_place_of(bits, product >> np.uint64(32)))
        given = actions[lane]
        actions[lane] = ~drawn if given == -1 else given
        odd |= np.uint64(product & _LOW <= total) & np.uint64(live[lane])
    # Negative actions are those that were to be drawn.
    for lane in range(np.uint64(len(keys))):
        given = actions[lane]
        actions[lane] = (~given if given < 0 and not odd else given) if live[lane] else 0
    fault = FINE
    for lane in range(len(keys) if odd else 0):
        if actions[lane] < 0:
            actions[lane] = _draw_bit(words, lane, keys[lane] ^ place)
            if actions[lane] < 0 and fault == FINE:
                fault = lane
    return fault


@inlined
def _first_illegal(words: U64, actions: I64) -> int:
    """The first lane with an action, from 0 on or below -1, that is not legal; else `FINE`."""
    out_of_line()
    size = 64 * len(words)
    for lane in range(len(actions)):
        action = actions[lane]
        if action == -1:
            continue
        if action < 0 or action >= size:
            return lane
        if not words[action >> 6, lane] >> np.uint64(action & 63) & np.uint64(1):
            return lane
    return FINE


@kernel
def choose(
    look: U64,
    starts: I64,
    live: Bools,
    given: I64,
    seats: I64,
    lane_keys: U64,
    episodes: I64,
    turns: I32,
    draw: int,
    actions: I64,
    keys: U64,
) -> int:
    """Determine every mover's action in a turn.

    Args:
        look: `[..., L]`; `starts`: `[M + 2]` words where its parts begin, and the end.
        live: `[L]` lanes that play on; in the others every action is 0.
        given: `[L, Q]` actions, -1 for one to be drawn.
        seats: `[M]` the column of each mover in `given`; -1: its actions are drawn.
        lane_keys, episodes, turns: `[L]`; see the function `lane_keys`.
        draw: 0 in a turn; each other number gives other actions.
        actions: `[M, L]`, filled in.
        keys: `[L]` the key of each lane in this turn, for moves of chance that are not listed;
            filled in.

    Returns:
        `FINE`, or `lane * M + mover` of the first mover's first illegal action, or of its first
        action to be drawn where there is no legal one.
    """
    movers = len(seats)
    for lane in range(np.uint64(len(keys))):
        key = _mixed(lane_keys[lane] ^ np.uint64(episodes[lane]))
        keys[lane] = _mixed(key ^ np.uint64(turns[lane])) ^ np.uint64(draw << 32)
    for mover in range(movers):
        words, chosen = look[starts[1 + mover] : starts[2 + mover]], actions[mover]
        num_drawn, seat = 0, seats[mover]
        for lane in range(np.uint64(len(keys))):
            action = -1 if seat < 0 or not live[lane] else given[lane, np.uint64(seat)]
            num_drawn += action == -1
            chosen[lane] = action
        fault = FINE
        if num_drawn < len(keys):
            fault = _first_illegal(words, chosen)
        if num_drawn and fault == FINE:
            fault = _draw_all(words, keys, mover, live, chosen)
        if fault != FINE:
            return int(fault * movers + mover)
    return FINE


# ------------------------------------------------------------------------
# Makes a turn of a circuit, in blocks of lanes.


@by_reference
class TurnTapes(NamedTuple):
    """What a circuit says of a turn.

    Attributes:
        step: the next state first, then the percepts.
        look: a look.
        state: the fluents, as rows of both tapes.
        seen: the literals of the percepts; `[0]` in plain GDL.
        state_sizes, seen_sizes, look_sizes: the numbers of literals in their words.
        move_rows: `[M, ...]` row in `step` of each action of each mover.
        told: `[M, ...]` the percept that reveals each action in plain GDL, -1 for none; `[0, 0]` in
            GDL-II.
    """

    step: Query
    look: Query
    state: Wires
    seen: Wires
    state_sizes: I64
    seen_sizes: I64
    look_sizes: I64
    move_rows: I32
    told: I64


@kernel
def make_turns(
    tapes: TurnTapes,
    packed: U64,
    actions: I64,
    live: Bools,
    successors: U64,
    look: U64,
    percepts: U64,
    rows: U64,
    look_rows: U64,
    squares: U64,
    width: tuple[int, ...],
) -> None:
    """Make a turn in lanes that play on, and look at all.

    Args:
        packed: `[L, ...]` states; `actions`: `[M, L]`.
        live: `[L]` lanes that play on, or `[0]`: all do.
        successors, look: filled in; `percepts`: `[R * words, L]`, filled in.
        rows, look_rows, squares: scratch: the rows of both tapes, and `[64 * W]`.
    """
    words = words_of(width)
    num_inputs, fluents = tapes.step.num_inputs, len(tapes.state.rows)
    for first in range(0, len(packed), 64 * words):
        count = min(64 * words, len(packed) - first)
        load_block(packed, first, count, tapes.step.row_of, rows, squares, width)
        for k in range((1 + fluents) * words, num_inputs * words):
            rows[k] = np.uint64(0)
        for mover in range(len(actions)):
            _set_moves(tapes.move_rows[mover], actions[mover], first, count, rows, width)
        run_tape(tapes.step.tape, 0, rows, rows, width)
        _note_live(live, first, count, squares, words)
        playing, following = load(squares, 0, width), tapes.step.wires
        for k in range(fluents):
            new = load(rows, np.int64(following.rows[k]) * words, width)
            new = bxor(new, splat(following.inverted[k], width))
            old = load(rows, np.int64(tapes.state.rows[k]) * words, width)
            old = bor(band(playing, new), but_not(old, playing))
            store(look_rows, np.int64(tapes.state.rows[k]) * words, old)
        if len(tapes.told):
            _tell_moves(tapes.told, actions, first, count, percepts)
        else:
            store_columns(
                rows, tapes.seen, tapes.seen_sizes, count, percepts, first, squares, width
            )
        store_columns(
            look_rows, tapes.state, tapes.state_sizes, count, successors.T, first, squares, width
        )
        run_tape(tapes.look.tape, 0, look_rows, look_rows, width)
        wires, sizes = tapes.look.wires, tapes.look_sizes
        store_columns(look_rows, wires, sizes, count, look, first, squares, width)


@inlined
def _set_moves(
    move_rows: I32, actions: I64, first: int, count: int, rows: U64, width: tuple[int, ...]
) -> None:
    """Set the bits of a mover's move in each lane of a block."""
    words = np.uint64(words_of(width))
    for lane in range(np.uint64(count)):
        action = np.uint64(actions[np.uint64(first) + lane])
        row = np.uint64(move_rows[action]) * words + (lane >> np.uint64(6))
        rows[row] |= np.uint64(1) << (lane & np.uint64(63))


@inlined
def _tell_moves(told: I64, actions: I64, first: int, count: int, percepts: U64) -> None:
    """The percepts of plain GDL: everybody is told the joint move. `percepts`: `[R * words, L]`."""
    out_of_line()
    movers = len(actions)
    num_words = len(percepts) // movers
    for w in range(num_words):
        for lane in range(np.uint64(first), np.uint64(first + count)):
            bits = np.uint64(0)
            for mover in range(np.uint64(movers)):
                bit = told[mover, np.uint64(actions[mover, lane])]
                bits |= np.uint64(bit >> 6 == w) << np.uint64(bit & 63)
            for role in range(movers):
                percepts[np.uint64(role * num_words + w), lane] = bits


@inlined
def _note_live(live: Bools, first: int, count: int, mask: U64, words: int) -> None:
    """The mask of the lanes of a block that play on."""
    for w in range(words):
        mask[w] = np.uint64(0) if len(live) else _ALL
    for lane in range(count if len(live) else 0):
        mask[lane >> 6] |= np.uint64(live[first + lane]) << np.uint64(lane & 63)


# ------------------------------------------------------------------------
# Records turns.


@by_reference
class Arrays(NamedTuple):
    """The output arrays of L lanes, see `Turn`; each turn has new ones."""

    rewards: NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    turns: I32
    episodes: I64
    moves: I32
    mask_bits: U64
    percept_bits: U64


@by_reference
class EpisodeRules(NamedTuple):
    """What is recorded of a turn, and how an episode ends and begins.

    Attributes:
        starts: `[M + 2]` words where the parts of a look begin, and the end.
        start: `[words]` a look at the initial state.
        choosers: `[Q]` the players that choose their moves.
        goal_masks: `[Q, words]` the bits for the goal values of each chooser in the first part of a
            look.
        goal_values: the numbers that these bits count as; NaN: the machine is to say.
        num_moves: A.
        max_turns: number of turns after which an episode is cut off.
        restarts: whether lanes that end restart in the same turn.
    """

    starts: I64
    start: U64
    choosers: I64
    goal_masks: U64
    goal_values: NDArray[np.float64]
    num_moves: int
    max_turns: int
    restarts: bool


UNSETTLED, NUM_ENDED = range(2)
"""Indices of what `note` counts: the lanes whose goals the machine is to say, and the lanes that
ended."""


@kernel
def note(
    course: EpisodeRules,
    current: Arrays,
    look: U64,
    live: Bools,
    actions: I64,
    percepts: U64,
    following: Arrays,
    paths: I32,
    ended: I64,
    counts: I64,
) -> int:
    """Record a turn: in lanes that play on, what was done and seen; in all, what is legal now.

    Args:
        look: the look after the turn; that of lanes that restart is overwritten.
        live: `[L]` lanes that play on.
        actions: `[M, L]`; `percepts`: `[R * words, L]` percepts of every player.
        following: filled in; its rewards are 0 before, NaN is for the machine to say.
        paths: `[L, Q, T, K]`, to which the turn is appended; `[L, Q, 0, 0]` without paths.
        ended: `[L]`: lanes that restart, filled in.
        counts: `[2]` see `UNSETTLED`, filled in.

    Returns:
        `FINE`, or the lane in which a player got more percepts than there is room for.
    """
    num_lanes, restarts = np.uint64(len(ended)), course.restarts
    ends = look[0]
    for lane in range(num_lanes):
        going, turns = live[lane], current.turns[lane] + live[lane]
        over = going & (ends[lane] & np.uint64(1) != 0)
        cut = going & (turns >= course.max_turns) & ~over
        fresh = restarts & (over | cut)
        following.turns[lane] = 0 if fresh else turns
        following.episodes[lane] = current.episodes[lane] + fresh
        following.terminated[lane] = over | (current.terminated[lane] & ~going)
        following.truncated[lane] = cut | (current.truncated[lane] & ~going)
    num_ended = counts[UNSETTLED] = 0
    for lane in range(num_lanes):
        ended[num_ended] = lane
        num_ended += live[lane] & (following.terminated[lane] | following.truncated[lane])
    counts[NUM_ENDED] = num_ended if restarts else 0
    for index in range(num_ended):
        lane = ended[index]
        if following.terminated[lane] and not _note_goals(course, look, lane, following.rewards):
            counts[UNSETTLED] += 1
    for k in range(len(course.choosers)):
        _note_role(course, current, look, live, actions, percepts, following, k)
        if paths.shape[2]:
            fault = _note_paths(course, current, live, following, paths, k)
            if fault != FINE:
                return fault
    for w in range(len(course.start) if restarts else 0):
        words, start = look[w], course.start[w]
        for lane in range(num_lanes):
            over = following.terminated[lane] | following.truncated[lane]
            words[lane] = start if over else words[lane]
    return FINE


@inlined
def _note_role(
    course: EpisodeRules,
    current: Arrays,
    look: U64,
    live: Bools,
    actions: I64,
    percepts: U64,
    following: Arrays,
    k: int,
) -> None:
    """Record what a role did and saw in lanes that play on, and what is legal for it now."""
    out_of_line()
    role, column, num_lanes = course.choosers[k], np.uint64(k), np.uint64(len(following.turns))
    terminated, truncated, restarts = following.terminated, following.truncated, course.restarts
    moves, seen, masks = following.moves, following.percept_bits, following.mask_bits
    made = actions[role]
    for lane in range(num_lanes):
        fresh = restarts & (terminated[lane] | truncated[lane])
        moves[lane, column] = -1 if fresh else made[lane]
    for w in range(np.uint64(seen.shape[2])):
        told = percepts[role * seen.shape[2] + w]
        for lane in range(num_lanes):
            fresh = restarts & (terminated[lane] | truncated[lane])
            seen[lane, column, w] = np.uint64(0) if fresh else told[lane]
    for w in range(np.uint64(masks.shape[2])):
        legal, at = look[course.starts[1 + role] + w], course.starts[1 + role] + w
        start = course.start[at] if restarts else np.uint64(0)
        for lane in range(num_lanes):
            over = terminated[lane] | truncated[lane]
            masks[lane, column, w] = start if over else legal[lane]
    for lane in range(0 if restarts else len(live)):
        if not live[lane]:
            moves[lane, k] = current.moves[lane, k]
            for w in range(seen.shape[2]):
                seen[lane, k, w] = current.percept_bits[lane, k, w]


@inlined
def _note_paths(
    course: EpisodeRules, current: Arrays, live: Bools, following: Arrays, paths: I32, k: int
) -> int:
    """Append the turn to a role's path in lanes that play on, and clear it in those that restart;
    returns the first lane in which there is no room, else `FINE`."""
    out_of_line()
    for lane in range(len(following.turns)):
        turn = current.turns[lane]
        if not live[lane]:
            continue
        if following.turns[lane] == 0:
            for row in range(turn):
                for position in range(paths.shape[3]):
                    paths[lane, k, row, position] = 0
        elif not _append(paths, lane, k, turn, following, course.num_moves):
            return lane
    return FINE


@inlined
def _append(paths: I32, lane: int, k: int, turn: int, arrays: Arrays, num_moves: int) -> bool:
    """Append the move and percepts of a role to its path; false if there is no room."""
    paths[lane, k, turn, 0] = 1 + arrays.moves[lane, k]
    position = 1
    for w in range(arrays.percept_bits.shape[2]):
        bits = arrays.percept_bits[lane, k, w]
        while bits:
            if position == paths.shape[3]:
                return False
            paths[lane, k, turn, position] = 1 + num_moves + 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            position += 1
    return True


@inlined
def _note_goals(course: EpisodeRules, look: U64, lane: int, rewards: NDArray[np.float32]) -> bool:
    """Fill in the goal values of a lane that is over; false if the machine is to say one of them:
    a role has none, or several, or an odd one."""
    fine, masks = True, course.goal_masks
    for k in range(len(course.choosers)):
        value, num = 0.0, 0
        for w in range(masks.shape[1]):
            bits = look[w, lane] & masks[k, w]
            num += count_ones(bits)
            value = course.goal_values[64 * w + lowest_one(bits)] if bits else value
        is_settled = num == 1 and value == value
        rewards[lane, k] = value if is_settled else np.nan
        fine = fine and is_settled
    return fine


@kernel
def show(words: U64, moves: I32, num_moves: int, size: int, out: U8) -> None:
    """Unpack bits: N rows of bytes, for a move and for packed words.

    Args:
        words: `[N, ...]`.
        moves: `[N]` in the first `num_moves` bytes of a row, the byte of this move is 1; -1: none.
        size: bytes of a row.
        out: `[N * size + SPARE]`, filled in.
    """
    # What is written beyond the end of a row is overwritten with the next.
    if size <= 64:
        for row in range(np.uint64(len(words))):
            bits = words[row, np.uint64(0)] << np.uint64(num_moves)
            if num_moves:  # without a branch for rows without a move, at the beginning
                bits |= np.uint64(moves[row] >= 0) << np.uint64(moves[row] & 63)
            for k in range(np.uint64(0), np.uint64(size), np.uint64(32)):
                spread_bits(out, row * np.uint64(size) + k, bits >> k)
        return
    for row in range(len(words)):
        at = row * size
        for k in range(0, num_moves, 32):
            spread_bits(out, at + k, _NONE)
        for k in range(0, size - num_moves, 32):
            spread_bits(out, at + num_moves + k, words[row, k >> 6] >> np.uint64(k & 63))
        if num_moves and moves[row] >= 0:
            out[at + moves[row]] = 1


SPARE = 32
"""Bytes that `show` may write beyond the end."""
