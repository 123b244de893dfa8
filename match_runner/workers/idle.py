"""Pools of one process without work, kept for a while: a child takes seconds to start."""

from __future__ import annotations

import threading
from collections.abc import Hashable

from match_runner.workers.executor import LocalPool

KEPT_S = 30.0
"""Seconds for which an idle pool is kept."""

_idle: dict[LocalPool, tuple[Hashable, threading.Timer]] = {}
"""Idle pools, with their keys and the timers that end them."""
_lock = threading.Lock()


def take_pool(key: Hashable = None) -> LocalPool:
    """Take a pool of one process: one that was kept with this key, else a new one."""
    with _lock:
        pool = next((pool for pool, (found, _) in _idle.items() if found == key), None)
        if pool is None:
            return LocalPool(1)
        _, timer = _idle.pop(pool)
    timer.cancel()
    return pool


def keep_pool(pool: LocalPool, key: Hashable = None) -> None:
    """Keep an idle pool for the next caller that wants one with this key.

    Args:
        key: what it was used for.
    """
    timer = threading.Timer(KEPT_S, _drop_pool, (pool,))
    timer.daemon = True
    with _lock:
        _idle[pool] = key, timer
    timer.start()


def num_kept(key: Hashable) -> int:
    """Number of pools that are kept with a key."""
    with _lock:
        return sum(found == key for found, _ in _idle.values())


def close_idle() -> None:
    """End all pools that are kept."""
    with _lock:
        pools = list(_idle)
    for pool in pools:
        _drop_pool(pool)


def _drop_pool(pool: LocalPool) -> None:
    with _lock:
        if pool not in _idle:
            return
        _, timer = _idle.pop(pool)
    timer.cancel()
    pool.close()
