"""Kernels of an environment: choose actions, record turns and unpack bits, lane by lane.

They read the looks and percepts of an `Engine`, and fill in the arrays of a `Turn`. Bits are packed
as everywhere: bit b of word w of a row is index `64 * w + b`. A *look* at L lanes is `[L, words]`:
a word whose lowest bit says whether the game is over, then the legal moves of each *mover*: the
players, followed by `random` if its moves are listed. There are M movers; R of them are players,
who get percepts.

Rule: a random number is a function of the seed, the lane, its episode, the turn and the mover, and
of nothing else. So a lane plays the same whatever the number of lanes and threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import count_ones, lowest_one
from ggp.machine.propnet.play.kernels.choice import seed_words

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]

FINE = -1
"""Kernels return this if nothing is wrong, otherwise the index of the fault."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _mixed(key: np.uint64, word: U64) -> np.uint64:
    """64 bits that depend on all bits of a key; `word` is scratch."""
    seed_words(key, word)
    mixed: np.uint64 = word[0]
    return mixed


@inlined
def _turn_key(seed: np.uint64, lane: int, episode: int, turn: int, word: U64) -> np.uint64:
    """The key of all draws of a lane in one turn."""
    # The seed is mixed before the lane is added: lane 1 of seed 0 must not be lane 0 of seed 1.
    key = _mixed(_mixed(seed, word) ^ np.uint64(lane), word)
    key = _mixed(key ^ np.uint64(episode), word)
    return _mixed(key ^ np.uint64(turn), word)


@inlined
def _draw_bit(rows: U64, lane: int, start: int, end: int, key: np.uint64, word: U64) -> int:
    """The index of a set bit, drawn uniformly; -1 if none is set."""
    total = 0
    for w in range(start, end):
        total += count_ones(rows[lane, w])
    if total == 0:
        return -1
    if total > 1:
        modulus = np.uint64(total)
        # Rejection: keys above the last multiple of the count would favour the first remainders.
        last = _ALL - (_ALL % modulus + np.uint64(1)) % modulus
        while key > last:
            key = _mixed(key, word)
        rank = int(key % modulus)
    else:
        rank = 0
    w = start
    num_ones = count_ones(rows[lane, w])
    while rank >= num_ones:
        rank -= num_ones
        w += 1
        num_ones = count_ones(rows[lane, w])
    bits = rows[lane, w]
    for _ in range(rank):
        bits &= bits - np.uint64(1)
    return 64 * (w - start) + lowest_one(bits)


@inlined
def _holds(rows: U64, lane: int, start: int, end: int, bit: int) -> bool:
    """Whether the bit exists and is set."""
    if bit < 0 or bit >= 64 * (end - start):
        return False
    word = rows[lane, start + (bit >> 6)]
    return bool((word >> np.uint64(bit & 63)) & np.uint64(1))


@kernel
def choose(
    look: U64,
    starts: I64,
    live: Bools,
    player_actions: I64,
    seeds: U64,
    lane_numbers: I64,
    episodes: I64,
    turns: I32,
    word: U64,
    actions: I64,
    keys: U64,
) -> int:
    """Determine every mover's action in a turn.

    Args:
        look: `[L, ...]`; `starts`: `[M + 2]` words where its parts begin, and the end.
        live: `[L]` lanes that play on; in the others every mover gets action 0.
        player_actions: `[L, R]` actions of the players, -1 for an action to be drawn.
        seeds, lane_numbers, episodes, turns: `[L]`; see `Environment.reset` for the first two.
        word: `[1]` scratch.
        actions: `[L, M]`, filled in.
        keys: `[L]` random bits for moves of chance that are not listed; filled in.

    Returns:
        `FINE`, or `lane * M + mover` of the first illegal action, or of the first action to be
        drawn where there is no legal one.
    """
    movers = actions.shape[1]
    for lane in range(len(look)):
        if not live[lane]:
            for mover in range(movers):
                actions[lane, mover] = 0
            continue
        key = _turn_key(seeds[lane], lane_numbers[lane], episodes[lane], turns[lane], word)
        keys[lane] = _mixed(key ^ np.uint64(movers), word)
        for mover in range(movers):
            start, end = int(starts[1 + mover]), int(starts[2 + mover])
            action = -1
            if mover < player_actions.shape[1]:
                action = int(player_actions[lane, mover])
            if action == -1:
                draw_key = _mixed(key ^ np.uint64(mover), word)
                action = _draw_bit(look, lane, start, end, draw_key, word)
                if action < 0:
                    return int(lane * movers + mover)
            elif not _holds(look, lane, start, end, action):
                return int(lane * movers + mover)
            actions[lane, mover] = action
    return FINE


@kernel
def sample(
    masks: U64,
    draw: int,
    seeds: U64,
    lane_numbers: I64,
    episodes: I64,
    turns: I32,
    word: U64,
    actions: I64,
) -> None:
    """Draw a legal action for each player in each lane, -1 where there is none.

    Args:
        masks: `[L, R * words]` legal moves.
        draw: each number gives other actions; none gives the actions that `choose` draws.
        actions: `[L, R]`, filled in; the other arguments are as in `choose`.
    """
    roles = actions.shape[1]
    num_words = masks.shape[1] // roles
    for lane in range(len(masks)):
        key = _turn_key(seeds[lane], lane_numbers[lane], episodes[lane], turns[lane], word)
        key = _mixed(key ^ np.uint64(1 << 32 | draw), word)
        for role in range(roles):
            draw_key = _mixed(key ^ np.uint64(role), word)
            start = role * num_words
            actions[lane, role] = _draw_bit(masks, lane, start, start + num_words, draw_key, word)


@kernel
def note(
    look: U64,
    starts: I64,
    live: Bools,
    actions: I64,
    percepts: U64,
    choosers: I64,
    num_moves: int,
    max_turns: int,
    turns: I32,
    terminated: Bools,
    truncated: Bools,
    moves: I32,
    seen: U64,
    masks: U64,
    paths: I32,
) -> int:
    """Record a turn in lanes that play on; in the others, clear the masks of legal actions.

    Args:
        look: the look after the turn.
        actions: `[L, M]`; `percepts`: `[L, R, words]` percepts of every player.
        choosers: `[Q]` the players that choose their moves.
        num_moves: A.
        turns: `[L]`, incremented.
        terminated, truncated: `[L]`, filled in.
        moves: `[L, Q]`; `seen`: `[L, Q, words]`; `masks`: `[L, Q, words]`; filled in.
        paths: `[L, Q, T, K]`, to which the turn is appended; `[L, Q, 0, 0]` without paths.

    Returns:
        `FINE`, or the lane in which a player got more percepts than there is room for.
    """
    for lane in range(len(look)):
        if not live[lane]:
            for k in range(len(choosers)):
                for w in range(masks.shape[2]):
                    masks[lane, k, w] = np.uint64(0)
            continue
        turn = turns[lane]
        turns[lane] = turn + 1
        terminated[lane] = look[lane, 0] & np.uint64(1)
        truncated[lane] = not terminated[lane] and turn + 1 >= max_turns
        over = terminated[lane] or truncated[lane]
        for k in range(len(choosers)):
            role = choosers[k]
            moves[lane, k] = actions[lane, role]
            for w in range(seen.shape[2]):
                seen[lane, k, w] = percepts[lane, role, w]
            for w in range(masks.shape[2]):
                masks[lane, k, w] = np.uint64(0) if over else look[lane, starts[1 + role] + w]
            if not paths.shape[2]:
                continue
            paths[lane, k, turn, 0] = 1 + actions[lane, role]
            position = 1
            for w in range(seen.shape[2]):
                bits = seen[lane, k, w]
                while bits:
                    if position == paths.shape[3]:
                        return lane
                    paths[lane, k, turn, position] = 1 + num_moves + 64 * w + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    position += 1
    return FINE


@kernel
def restart(
    lanes: I64,
    start: U64,
    starts: I64,
    choosers: I64,
    turns: I32,
    episodes: I64,
    moves: I32,
    seen: U64,
    masks: U64,
    paths: I32,
) -> None:
    """Begin a new episode in some lanes, with an empty path.

    Args:
        start: a look at the initial state, `[1, ...]`; the other arguments are as in `note`.
    """
    # A path is cleared only as far as it was filled: each turn up to its first padding.
    for index in range(len(lanes)):
        lane = lanes[index]
        for k in range(len(choosers)):
            moves[lane, k] = -1
            for w in range(seen.shape[2]):
                seen[lane, k, w] = np.uint64(0)
            for w in range(masks.shape[2]):
                masks[lane, k, w] = start[0, starts[1 + choosers[k]] + w]
            if paths.shape[2]:
                for turn in range(turns[lane]):
                    for position in range(paths.shape[3]):
                        if paths[lane, k, turn, position] == 0:
                            break
                        paths[lane, k, turn, position] = 0
        turns[lane] = 0
        episodes[lane] += 1


@kernel
def spread(words: U64, first: int, out: U8) -> None:
    """Unpack bits: `out[N, first:]` gets one byte for each bit of `words[N, ...]`."""
    for row in range(len(words)):
        for k in range(out.shape[1] - first):
            bit = (words[row, k >> 6] >> np.uint64(k & 63)) & np.uint64(1)
            out[row, first + k] = bit


@kernel
def show_moves(moves: I32, out: U8) -> None:
    """Set the byte of the move of each row of `out[N, ...]`; a move of -1 sets none."""
    for row in range(len(moves)):
        if moves[row] >= 0:
            out[row, moves[row]] = 1
