"""Trees over incomplete paths, plainly: one lane after the other, dictionaries, no arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ggp.belief import PathTree
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, FloatArray, States
from ggp.search.trees.paths_tree import PathsTree

_WORD = (1 << 64) - 1


class Splitmix:
    """The random numbers of the kernels."""

    def __init__(self, key: int) -> None:
        self._state = key

    def uniform(self) -> float:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _WORD
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
        value ^= value >> 31
        return float(value >> 11) / 9007199254740992.0


@dataclass
class SlowAction:
    """Statistics of one move of a node."""

    since: int
    visits: int = 0
    discounted: float = 0.0
    goals: float = 0.0


@dataclass
class SlowNode:
    """The statistics of a role at a path."""

    selections: int = 0
    actions: dict[int, SlowAction] = field(default_factory=dict)


def grow_without_kernel(tree: PathsTree) -> None:
    """From now on the tree grows step by step in Python, as on machines without a circuit."""
    tree._lister = None


class SlowTree:
    """The twin of `PathsTree`; `leaf` gives the value of a state that is played out."""

    def __init__(self, machine: Machine, paths: PathTree, exploration: float, keep: float) -> None:
        self.machine, self.paths = machine, paths
        self.exploration, self.keep = exploration, keep
        self.nodes: dict[int, SlowNode] = {}
        self._met: set[tuple[object, ...]] = set()

    def meet(
        self, states: States, views: list[int], history: tuple[object, ...], own_role: int
    ) -> bool:
        """Make the nodes of a world met for the first time; whether one is new."""
        if history in self._met:
            return False
        self._met.add(history)
        fresh = False
        for role in range(len(views)):
            if role == self.machine.random_role:
                continue
            legal = self.machine.legal(states, role)[0].tolist()
            if len(legal) > 1 or (legal and (role == own_role or views[role] in self.nodes)):
                fresh |= views[role] not in self.nodes
                node = self.nodes.setdefault(views[role], SlowNode())
                for move in legal:
                    node.actions.setdefault(move, SlowAction(node.selections))
        return fresh

    def lane(self, states: States, views: list[int], particle: int, key: int) -> None:
        """Send one lane down from a particle."""
        machine, random = self.machine, Splitmix(key)
        path: list[tuple[int, SlowAction]] = []
        history: tuple[object, ...] = (particle,)
        turns, fresh = 0, False
        while not machine.terminal(states)[0] and not fresh:
            joint: list[int] = []
            refused: list[int] = []
            for role in range(len(views)):
                executed, submitted = self._choose(states, views[role], role, random, path)
                joint.append(executed)
                refused.append(UNKNOWN if executed == submitted else submitted)
            stepped = machine.step(states, np.array([joint]))
            states, turns = stepped.states, turns + 1
            history = (*history, tuple(joint), tuple(refused))
            for role in range(len(views)):
                if role != machine.random_role:
                    news = joint[role], int(stepped.percepts[0, role]), refused[role]
                    rows = [np.array([x]) for x in (views[role], *news)]
                    views = [*views]
                    views[role] = int(self.paths.extend(*rows)[0])
            fresh = self.meet(states, views, history, -1)
        goals = (machine.goals(states)[0] / 100) if machine.terminal(states)[0] else leaf(states)
        for role, action in path:
            action.visits += 1
            action.goals += goals[role]
            action.discounted += 0.5 + self.keep**turns * (goals[role] - 0.5)

    def _choose(
        self,
        states: States,
        view: int,
        role: int,
        random: Splitmix,
        path: list[tuple[int, SlowAction]],
    ) -> tuple[int, int]:
        """The move executed, and the one submitted."""
        if role == self.machine.random_role:
            _, moves, probabilities = self.machine.chance(states)
            if len(moves) == 1:
                return int(moves[0]), int(moves[0])
            upto = np.cumsum(probabilities)
            at = min(int(np.searchsorted(upto, random.uniform(), side="right")), len(moves) - 1)
            return int(moves[at]), int(moves[at])
        legal = self.machine.legal(states, role)[0].tolist()
        node = self.nodes.get(view)
        if node is None:
            return legal[0], legal[0]
        move = self._select(node, random)
        path.append((role, node.actions[move]))
        node.selections += 1
        return (move if move in legal else legal[int(random.uniform() * len(legal))]), move

    def _select(self, node: SlowNode, random: Splitmix) -> int:
        best, highest, untried = -1, -1.0, 0
        for move, action in node.actions.items():
            if action.visits == 0:
                untried += 1
                if random.uniform() * untried < 1.0:
                    best = move
            elif not untried:
                available = node.selections - action.since
                bonus = math.sqrt(math.log(available + 1.0) / action.visits)
                score = action.discounted / action.visits + self.exploration * bonus
                if score > highest:
                    best, highest = move, score
        return best


def leaf(states: States) -> FloatArray:
    """A made-up result of a playout: a number that depends on the state alone."""
    machine = states.owner  # type: ignore[attr-defined]
    (fluents,) = machine.fluents(states)
    spread = sum(map(ord, "".join(fluents))) % 101
    goals: FloatArray = np.array([spread / 100, 1 - spread / 100, 0.5])[: len(machine.roles)]
    return goals
