"""Kernels of an environment: choosing, recording and showing, lane by lane.

Bits are packed as everywhere: bit b of word w of a row is item `64 * w + b`. A *look* at L lanes is
`[L, words]`: a word whose lowest bit says whether the game is over, then the legal moves of each
*mover*, the players first and then `random`, if its moves are listed. There are M movers; R of them
are players, who get percepts.

Random numbers are a function of the seed, the lane, the episode in it, the turn, and the mover. So
a lane plays the same however many lanes there are, and whoever computes it.
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
"""Returned by kernels if nothing is wrong; otherwise they return the number of the fault."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _mixed(key: np.uint64, word: U64) -> np.uint64:
    """64 bits that depend on all bits of a key; `word` is scratch."""
    seed_words(key, word)
    mixed: np.uint64 = word[0]
    return mixed


@inlined
def _moment(seed: np.uint64, lane: int, episode: int, turn: int, word: U64) -> np.uint64:
    """What all draws of a lane in one turn begin with."""
    # Mixed before the lane comes in: lane 1 of seed 0 must not be lane 0 of seed 1.
    key = _mixed(_mixed(seed, word) ^ np.uint64(lane), word)
    key = _mixed(key ^ np.uint64(episode), word)
    return _mixed(key ^ np.uint64(turn), word)


@inlined
def _drawn(rows: U64, lane: int, start: int, end: int, key: np.uint64, word: U64) -> int:
    """The place of one of the set bits, drawn uniformly; -1 if none is set."""
    total = 0
    for w in range(start, end):
        total += count_ones(rows[lane, w])
    if total == 0:
        return -1
    if total > 1:
        count = np.uint64(total)
        # Keys above the last multiple of the count would make its first numbers more likely.
        last = _ALL - (_ALL % count + np.uint64(1)) % count
        while key > last:
            key = _mixed(key, word)
        left = int(key % count)
    else:
        left = 0
    w = start
    held = count_ones(rows[lane, w])
    while left >= held:
        left -= held
        w += 1
        held = count_ones(rows[lane, w])
    bits = rows[lane, w]
    for _ in range(left):
        bits &= bits - np.uint64(1)
    return 64 * (w - start) + lowest_one(bits)


@inlined
def _holds(rows: U64, lane: int, start: int, end: int, place: int) -> bool:
    """Whether there is such a bit, and it is set."""
    if place < 0 or place >= 64 * (end - start):
        return False
    word = rows[lane, start + (place >> 6)]
    return bool((word >> np.uint64(place & 63)) & np.uint64(1))


@kernel
def choose(
    look: U64,
    starts: I64,
    live: Bools,
    given: I64,
    seeds: U64,
    numbers: I64,
    episodes: I64,
    turns: I32,
    word: U64,
    actions: I64,
    keys: U64,
) -> int:
    """Determine every mover's action in a turn.

    Args:
        look: `[L, ...]`, and `starts` `[M + 2]` words where its parts begin, and the end.
        live: `[L]` lanes that play on; in the others everybody has action 0.
        given: `[L, R]` actions of the players, -1 for one that is to be drawn.
        seeds, numbers, episodes, turns: `[L]`; see `Environment.reset` for the first two.
        word: `[1]` scratch.
        actions: `[L, M]`, filled in.
        keys: `[L]` filled in: chance draws from them if its moves are not listed.

    Returns:
        `FINE`, or `lane * M + mover` of the first action that is not legal; for an action that was
        to be drawn, there is no legal one.
    """
    movers = actions.shape[1]
    for lane in range(len(look)):
        if not live[lane]:
            for mover in range(movers):
                actions[lane, mover] = 0
            continue
        key = _moment(seeds[lane], numbers[lane], episodes[lane], turns[lane], word)
        keys[lane] = _mixed(key ^ np.uint64(movers), word)
        for mover in range(movers):
            start, end = int(starts[1 + mover]), int(starts[2 + mover])
            action = -1
            if mover < given.shape[1]:
                action = int(given[lane, mover])
            if action == -1:
                drawing = _mixed(key ^ np.uint64(mover), word)
                action = _drawn(look, lane, start, end, drawing, word)
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
    numbers: I64,
    episodes: I64,
    turns: I32,
    word: U64,
    actions: I64,
) -> None:
    """Draw a legal action for each player in each lane, -1 where there is none.

    Args:
        masks: `[L, R * words]` legal moves.
        draw: each number gives other actions, not those that `choose` draws.
        actions: `[L, R]`, filled in; all else as in `choose`.
    """
    roles = actions.shape[1]
    num_words = masks.shape[1] // roles
    for lane in range(len(masks)):
        key = _moment(seeds[lane], numbers[lane], episodes[lane], turns[lane], word)
        key = _mixed(key ^ np.uint64(1 << 32 | draw), word)
        for role in range(roles):
            drawing = _mixed(key ^ np.uint64(role), word)
            start = role * num_words
            actions[lane, role] = _drawn(masks, lane, start, start + num_words, drawing, word)


@kernel
def note(
    look: U64,
    starts: I64,
    live: Bools,
    actions: I64,
    percepts: U64,
    played: I64,
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
    """Record the results of a turn in lanes that play on; in others only that nothing is legal.

    Args:
        look: after the turn.
        actions: `[L, M]`; `percepts`: `[L, R, words]` percepts of every player.
        played: `[Q]` the players that choose their moves.
        num_moves: A.
        turns: `[L]` one more in each lane.
        terminated, truncated: `[L]`.
        moves: `[L, Q]`; `seen`: `[L, Q, words]`; `masks`: `[L, Q, words]`.
        paths: `[L, Q, T, K]` the turn is added; `[L, Q, 0, 0]` if they are not kept.

    Returns:
        `FINE`, or the lane in which a player got more percepts than there is room for.
    """
    for lane in range(len(look)):
        if not live[lane]:
            for k in range(len(played)):
                for w in range(masks.shape[2]):
                    masks[lane, k, w] = np.uint64(0)
            continue
        turn = turns[lane]
        turns[lane] = turn + 1
        terminated[lane] = look[lane, 0] & np.uint64(1)
        truncated[lane] = not terminated[lane] and turn + 1 >= max_turns
        over = terminated[lane] or truncated[lane]
        for k in range(len(played)):
            role = played[k]
            moves[lane, k] = actions[lane, role]
            for w in range(seen.shape[2]):
                seen[lane, k, w] = percepts[lane, role, w]
            for w in range(masks.shape[2]):
                masks[lane, k, w] = np.uint64(0) if over else look[lane, starts[1 + role] + w]
            if not paths.shape[2]:
                continue
            paths[lane, k, turn, 0] = 1 + actions[lane, role]
            at = 1
            for w in range(seen.shape[2]):
                bits = seen[lane, k, w]
                while bits:
                    if at == paths.shape[3]:
                        return lane
                    paths[lane, k, turn, at] = 1 + num_moves + 64 * w + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    at += 1
    return FINE


@kernel
def restart(
    lanes: I64,
    start: U64,
    starts: I64,
    played: I64,
    turns: I32,
    episodes: I64,
    moves: I32,
    seen: U64,
    masks: U64,
    paths: I32,
) -> None:
    """Begin a new episode in some lanes, with an empty path.

    Args:
        start: a look at the initial state, `[1, ...]`; all else as in `note`.
    """
    for number in range(len(lanes)):
        lane = lanes[number]
        for k in range(len(played)):
            moves[lane, k] = -1
            for w in range(seen.shape[2]):
                seen[lane, k, w] = np.uint64(0)
            for w in range(masks.shape[2]):
                masks[lane, k, w] = start[0, starts[1 + played[k]] + w]
            if paths.shape[2]:
                for turn in range(turns[lane]):
                    for at in range(paths.shape[3]):
                        if paths[lane, k, turn, at] == 0:
                            break
                        paths[lane, k, turn, at] = 0
        turns[lane] = 0
        episodes[lane] += 1


@kernel
def spread(words: U64, first: int, out: U8) -> None:
    """Write bits as bytes: `out[N, first:]` of `words[N, ...]`."""
    for row in range(len(words)):
        for k in range(out.shape[1] - first):
            bit = (words[row, k >> 6] >> np.uint64(k & 63)) & np.uint64(1)
            out[row, first + k] = bit


@kernel
def show_moves(moves: I32, out: U8) -> None:
    """Set the byte of each of `[N]` moves in `out[N, ...]`, where there is one."""
    for row in range(len(moves)):
        if moves[row] >= 0:
            out[row, moves[row]] = 1
