"""Random matches of OpenSpiel's games, in C++ if they are played to the end."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ggp.clocks import TellsTime
from ggp.machine.base import DEFAULT_MAX_STEPS, FloatArray
from ggp.machine.spiel.games import pyspiel
from ggp.machine.spiel.nodes import returns_of

_MOST_SEED = 1 << 30


class RandomMatches:
    """Continues matches of a game from its states.

    Args:
        game: the `pyspiel.Game`.
    """

    def __init__(self, game: Any) -> None:
        self._library = pyspiel()
        self._num_players: int = game.num_players()
        kind = game.get_type()
        self._is_sequential = kind.dynamics == self._library.GameType.Dynamics.SEQUENTIAL
        self._error = self._library.SpielError

    def play(
        self,
        nodes: np.ndarray[Any, Any],
        rng: np.random.Generator,
        max_steps: int,
        max_seconds: float | None,
        clock: TellsTime = time.monotonic,
    ) -> tuple[FloatArray, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """`[L, P]` utilities, `[L]` steps, `[L]` whether they ended; see `Machine.playout`."""
        until_s = None if max_seconds is None else clock() + max_seconds
        utilities = np.zeros((len(nodes), self._num_players))
        steps = np.zeros(len(nodes), dtype=np.int64)
        finished = np.zeros(len(nodes), dtype=np.bool_)
        # Bots that are seeded anew for each match cost more than most matches.
        bots = [
            self._library.make_uniform_random_bot(player, int(rng.integers(_MOST_SEED)))
            for player in range(self._num_players)
        ]
        seeds = rng.integers(_MOST_SEED, size=len(nodes)).tolist()
        for lane, node in enumerate(nodes):
            if node.is_over:
                utilities[lane], finished[lane] = returns_of(node), True
                continue
            if until_s is not None and clock() > until_s:
                break
            state = node.state.clone()
            if max_steps < DEFAULT_MAX_STEPS:
                self._walk(state, rng, max_steps)
            else:
                try:
                    self._library.evaluate_bots(state, bots, seeds[lane])
                except self._error:
                    continue
            made = self._num_turns(state) - self._num_turns(node.state)
            steps[lane] = min(made, max_steps)
            if state.is_terminal() and made <= max_steps:
                utilities[lane], finished[lane] = state.returns(), True
        return utilities, steps, finished

    def _num_turns(self, state: Any) -> int:
        """Number of joint moves so far; choices of all players one after the other count as one."""
        # OpenSpiel's own count leaves chance out in some games.
        if self._is_sequential:
            return len(state.history())
        players = [each.player for each in state.full_history()]
        everybody = list(range(self._num_players))
        at = turns = 0
        while at < len(players):
            together = players[at : at + self._num_players] == everybody
            at += self._num_players if together else 1
            turns += 1
        return turns

    def _walk(self, state: Any, rng: np.random.Generator, max_steps: int) -> None:
        """Play random moves, at most `max_steps`."""
        for _ in range(max_steps):
            if state.is_terminal():
                return
            if state.is_chance_node():
                actions, shares = zip(*state.chance_outcomes(), strict=True)
                weights = np.array(shares)
                state.apply_action(actions[rng.choice(len(actions), p=weights / weights.sum())])
            elif state.is_simultaneous_node():
                state.apply_actions(
                    [
                        int(rng.choice(state.legal_actions(player) or [0]))
                        for player in range(self._num_players)
                    ]
                )
            else:
                state.apply_action(int(rng.choice(state.legal_actions())))
