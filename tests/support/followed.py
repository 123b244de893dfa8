"""A player in a random match, decision by decision, with what is in its bag."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ggp.belief import Bags
from ggp.machine import Machine, role_index
from ggp.machine.base import States
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.search.moves import random_moves

Told = tuple[str, tuple[str, ...]]
"""A move that was executed, and the percepts after it."""

Script = Callable[[int, str, list[str]], str | None]
"""The move of a role in a turn, by its name and legal moves; None to leave it to player or lot."""


class Looked(NamedTuple):
    """A player when it decides.

    Attributes:
        path: its own moves and percepts.
        player: the player itself.
        decision: its decision.
        truth: the fluents of the true state, which it does not know.
    """

    path: list[Told]
    player: BeliefPlayer
    decision: Decision
    truth: tuple[str, ...]

    @property
    def bag(self) -> Bags:
        """The bag behind the decision: its own, or one found anew where that is empty."""
        tracker = self.player.tracker
        return tracker.last_known if tracker.bag.depleted[0] else tracker.bag

    def fluents(self) -> list[tuple[str, ...]]:
        """What holds in each particle."""
        return self.player.machine.fluents(self.bag.states_of(0))

    def assert_sound(self) -> None:
        """It was decided by particles, none of which may be impossible by its own account."""
        assert self.decision.is_sound, (len(self.path), self.decision.fault)
        assert self.decision.quality is not None
        assert self.decision.quality["sound"] is True
        assert self.decision.guessed == 0
        assert self.decision.particles == len(self.bag.lanes_of(0)) > 0


class Looks:
    """A clock that goes on whenever somebody looks at it: the same every time.

    Args:
        tick_s: seconds by which it goes on. Machines take the seconds that are left for real ones,
            so a busy computer makes no difference where there are many.
    """

    def __init__(self, tick_s: float = 0.001) -> None:
        self.looks, self._tick_s = 0, tick_s

    def __call__(self) -> float:
        self.looks += 1
        return self.looks * self._tick_s


def follow(
    machine: Machine,
    role: str,
    spec: str,
    seed: int,
    script: Script = lambda turn, role, legal: None,
    observe_s: float | None = None,
) -> Iterator[Looked]:
    """Play a match in which one role has a player and the others move at random.

    Args:
        script: says otherwise.
        observe_s: seconds that the player has to observe a turn, by a clock of `Looks`; None: no
            clock. It decides by counts.
    """
    rng, own_role = np.random.default_rng(seed), role_index(machine, role)
    player = make_player(parse_spec(spec), machine, own_role, np.random.default_rng(seed))
    assert isinstance(player, BeliefPlayer)
    states, path, clock = machine.initial(1), list[Told](), Looks()
    while not machine.terminal(states)[0]:
        decision = player.choose()
        yield Looked(path, player, decision, machine.fluents(states)[0])
        joint = np.stack([random_moves(machine, states, r, rng) for r in range(len(machine.roles))])
        for number, name in enumerate(machine.roles):
            move_text = script(len(path), name, legal_texts(machine, states, number))
            move_text = move_text or (decision.move if number == own_role else None)
            if move_text is not None:
                move_id = machine.move_id(move_text)
                assert move_id is not None
                joint[number] = move_id
        states, percepts = machine.step(states, joint.T)
        move = machine.move_text(int(joint[own_role, 0]))
        seen = tuple(machine.percept_texts(int(percepts[0, own_role])))
        path.append((move, seen))
        deadline = None if observe_s is None else Deadline(clock() + observe_s, clock)
        if not machine.terminal(states)[0]:
            player.observe(move, seen, deadline=deadline)


def legal_texts(machine: Machine, states: States, role: int) -> list[str]:
    """The legal moves of a role in the only state of a batch."""
    return [machine.move_text(move) for move in machine.legal(states, role)[0].tolist()]
