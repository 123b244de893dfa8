"""Kernels of policies: probabilities of legal moves, draws from them, and how to improve them."""

from __future__ import annotations

import math

import numpy as np

from ggp.labs.learning.env.kernels import I64, U64
from ggp.labs.learning.selfplay.net_kernels import F32
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import GOLDEN, finalised
from ggp.machine.propnet.play.kernels.vectors import lowest_one


@inlined
def _highest(rows: U64, words: int, logits: F32, n: int) -> np.float32:
    """The highest logit of a legal move in row n."""
    top = np.float32(-np.inf)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            top = max(top, logits[n, 64 * w + lowest_one(bits)])
            bits &= bits - np.uint64(1)
    return top


@inlined
def _softmax(rows: U64, words: int, logits: F32, n: int) -> None:
    """Replace the logits of legal moves in row n by their probabilities."""
    top = _highest(rows, words, logits, n)
    total = np.float32(0)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            a = 64 * w + lowest_one(bits)
            share = np.float32(math.exp(logits[n, a] - top))
            logits[n, a] = share
            total += share
            bits &= bits - np.uint64(1)
    for w in range(words):
        bits = rows[n, w]
        while bits:
            logits[n, 64 * w + lowest_one(bits)] /= total
            bits &= bits - np.uint64(1)


@kernel
def probabilities(rows: U64, words: int, logits: F32) -> None:
    """Replace logits by probabilities of legal moves, 0 for all others.

    Args:
        rows: `[N, W]`, of which the first `words` words say what is legal.
        logits: `[N, A]`, changed in place.
    """
    for n in range(len(logits)):
        _softmax(rows, words, logits, n)
        for a in range(logits.shape[1]):
            if not (rows[n, a >> 6] >> np.uint64(a & 63)) & np.uint64(1):
                logits[n, a] = np.float32(0)


@kernel
def draw(masks: U64, logits: F32, key: np.uint64, chosen: I64, logs: F32) -> None:
    """Draw a move for each of N rows.

    Args:
        masks: `[N, words]` what is legal.
        logits: `[N, A]`, replaced by probabilities of what is legal.
        key: random bits of this call.
        chosen, logs: `[N]` the move drawn, and the log of its probability, filled in.
    """
    words = masks.shape[1]
    for n in range(len(logits)):
        _softmax(masks, words, logits, n)
        key += GOLDEN
        left = np.float32(finalised(key) >> np.uint64(40)) * np.float32(1.0 / 16777216.0)
        action = -1
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                if logits[n, a] > np.float32(0) and (action < 0 or left >= np.float32(0)):
                    action = a
                    left -= logits[n, a]
                bits &= bits - np.uint64(1)
        chosen[n] = action
        logs[n] = math.log(logits[n, action])


@kernel
def improve(
    masks: U64,
    logits: F32,
    chosen: I64,
    logs: F32,
    advantages: F32,
    temperature: float,
    clip: float,
    spare: F32,
    told: F32,
) -> None:
    """Replace logits by slopes of the loss: clipped policy gradient, and entropy.

    The loss is that of PPO (J. Schulman et al., 2017), minus the temperature times the entropy of
    the policy, in the mean over rows.

    Args:
        masks: `[N, words]` what is legal.
        logits: `[N, A]`, replaced; 0 for what is not legal.
        chosen: `[N]` moves that were made, and `logs`: `[N]` the logs of their probabilities then.
        advantages: `[N]` how much better they were than expected.
        clip: how far the ratio of probabilities may leave 1.
        spare: `[2, A]` for numbers on the way.
        told: `[2]` sum of entropies, and number of rows that were clipped; added to.
    """
    scale = np.float32(1.0 / max(len(logits), 1))
    warm, words = np.float32(temperature), masks.shape[1]
    for n in range(len(logits)):
        top = _highest(masks, words, logits, n)
        total = weighted = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                depth = logits[n, a] - top
                part = np.float32(math.exp(depth))
                spare[0, a], spare[1, a] = depth, part
                total += part
                weighted += part * depth
                bits &= bits - np.uint64(1)
        divisor = np.float32(math.log(total))
        entropy = divisor - weighted / total
        action = chosen[n]
        ratio = math.exp(min(float(spare[0, action] - divisor - logs[n]), 20.0))
        gain = float(advantages[n])
        force = np.float32(ratio * gain)
        if (gain > 0 and ratio > 1 + clip) or (gain < 0 and ratio < 1 - clip):
            force = np.float32(0)
            told[1] += np.float32(1)
        told[0] += entropy
        for a in range(logits.shape[1]):
            logits[n, a] = np.float32(0)
        for w in range(words):
            bits = masks[n, w]
            while bits:
                a = 64 * w + lowest_one(bits)
                share = spare[1, a] / total
                pull = force + warm * (spare[0, a] - divisor + entropy)
                logits[n, a] = scale * share * pull
                bits &= bits - np.uint64(1)
        logits[n, action] -= scale * force


@kernel
def advantages(values: F32, rewards: F32, ended: np.ndarray, decay: float, gains: F32) -> None:
    """Generalised advantage estimates (J. Schulman et al., ICLR 2016), without discount.

    Args:
        values: `[S + 1, L, Q]` of the states before each turn, and of the last one.
        rewards: `[S, L, Q]` of each turn; `ended`: `[S, L]` whether the match ended with it.
        decay: lambda.
        gains: `[S, L, Q]` filled in.
    """
    turns, lanes, roles = gains.shape
    for lane in range(lanes):
        for role in range(roles):
            gain = 0.0
            for k in range(turns):
                t = turns - 1 - k
                if ended[t, lane]:
                    gain = float(rewards[t, lane, role]) - float(values[t, lane, role])
                else:
                    step = float(values[t + 1, lane, role]) - float(values[t, lane, role])
                    gain = step + decay * gain
                gains[t, lane, role] = np.float32(gain)
