"""Ground programs evaluated in the plainest way, to be compared with machines."""

from __future__ import annotations

import random
from collections.abc import Mapping

from ggp.gdl.analysis.dependencies import strong_components
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS, GroundProgram, Named
from tests.support.plain.reference import Reference

State = frozenset[str]


class GroundGame:
    """A game of ground rules, with the methods of `Reference`; states are sets of KIF texts."""

    def __init__(self, program: GroundProgram, *, is_gdl2: bool = True) -> None:
        self.program = program
        self.roles = program.roles
        self._is_gdl2 = is_gdl2
        offsets, conditions = program.offsets.tolist(), program.conditions.tolist()
        self._rules: dict[int, list[list[int]]] = {}
        for rule, head in enumerate(program.heads.tolist()):
            body = conditions[offsets[rule] : offsets[rule + 1]]
            self._rules.setdefault(head, []).append(body)
        self._components = self._ordered()
        self._fluents = dict(program.fluents)
        self._moves = [dict(named) for named in program.does]
        self._memo: tuple[object, set[int]] = (None, set())

    def initial(self) -> State:
        """The initial state."""
        return frozenset(self.program.initial)

    def terminal(self, state: State) -> bool:
        """Whether the game is over."""
        terminal = self.program.terminal
        return terminal is not None and terminal in self._model(state, {})

    def legal(self, state: State, role: str) -> tuple[str, ...]:
        """The legal moves of a role, sorted."""
        return self._holding(self.program.legal[self.roles.index(role)], self._model(state, {}))

    def goals(self, state: State, role: str) -> tuple[str, ...]:
        """All goal values of a role, sorted as text."""
        named = self.program.goals[self.roles.index(role)]
        return tuple(sorted(set(self._holding(named, self._model(state, {})))))

    def step(
        self, state: State, moves: Mapping[str, str]
    ) -> tuple[State, dict[str, tuple[str, ...]]]:
        """The state and percepts that the joint move `moves` (one for every role) leads to."""
        model = self._model(state, moves)
        following = frozenset(self._holding(self.program.next, model))
        if not self._is_gdl2:
            percepts = tuple(sorted(f"(did {role} {move})" for role, move in moves.items()))
            return following, dict.fromkeys(self.roles, percepts)
        seen = zip(self.roles, self.program.sees, strict=True)
        return following, {role: self._holding(named, model) for role, named in seen}

    def texts(self, state: State) -> tuple[str, ...]:
        """The fluents as KIF, sorted."""
        return tuple(sorted(state))

    def _holding(self, named: Named, model: set[int]) -> tuple[str, ...]:
        return tuple(text for text, atom in named if atom in model)

    def _model(self, state: State, moves: Mapping[str, str]) -> set[int]:
        key = (state, tuple(sorted(moves.items())))
        if self._memo[0] == key:
            return self._memo[1]
        model = {ALWAYS} | {self._fluents[fluent] for fluent in state}
        model |= {self._moves[self.roles.index(role)][move] for role, move in moves.items()}
        for component in self._components:
            changed = True
            while changed:
                changed = False
                for atom in component:
                    if atom not in model and any(
                        all((abs(x) in model) == (x > 0) for x in body)
                        for body in self._rules[atom]
                    ):
                        model.add(atom)
                        changed = len(component) > 1
        self._memo = key, model
        return model

    def _ordered(self) -> list[list[int]]:
        """Atoms with rules, in groups that depend on each other, callees first."""
        edges = {
            head: {abs(x) for body in bodies for x in body} for head, bodies in self._rules.items()
        }
        size = 1 + max((max(x, *targets) for x, targets in edges.items() if targets), default=0)
        ordered = []
        for component in strong_components(edges, size):
            members = set(component)
            bodies = [body for atom in component for body in self._rules.get(atom, ())]
            assert not any(-x in members for body in bodies for x in body), "not stratified"
            if component[0] in self._rules:
                ordered.append(component)
        return ordered


def play_alike(game: GroundGame, reference: Reference, *, seed: int, max_steps: int) -> int:
    """Play one random match and assert that both say the same at every step.

    Returns:
        The number of joint moves made.
    """
    rng = random.Random(seed)
    state = game.initial()
    expected = reference.initial()
    for step in range(max_steps + 1):
        texts = reference.texts(expected)
        assert game.texts(state) == texts
        assert game.terminal(state) == reference.terminal(expected), texts
        moves = {role: reference.legal(expected, role) for role in reference.roles}
        for role, legal in moves.items():
            assert game.legal(state, role) == legal, f"{role} in {texts}"
            assert game.goals(state, role) == reference.goals(expected, role), f"{role} in {texts}"
        if step == max_steps or reference.terminal(expected) or not all(moves.values()):
            return step
        joint = {role: rng.choice(legal) for role, legal in moves.items()}
        state, percepts = game.step(state, joint)
        expected, expected_percepts = reference.step(expected, joint)
        assert percepts == expected_percepts, f"{joint} in {texts}"
    raise AssertionError("unreachable")
