"""Ground programs evaluated in the plainest way, to be compared with machines."""

from __future__ import annotations

from collections.abc import Mapping

from ggp.gdl.dependencies import strong_components
from ggp.machine.propnet.ground_program import ALWAYS, GroundProgram, Named
from tests.support.reference import Moved

State = frozenset[str]


class GroundGame:
    """A game like `Reference`, made of ground rules; terms are KIF texts."""

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
        self._known: tuple[object, set[int]] = (None, set())

    def initial(self) -> State:
        return frozenset(self.program.initial)

    def terminal(self, state: State) -> bool:
        terminal = self.program.terminal
        return terminal is not None and terminal in self._model(state, {})

    def legal(self, state: State, role: str) -> tuple[str, ...]:
        return self._holding(self.program.legal[self.roles.index(role)], self._model(state, {}))

    def goal(self, state: State, role: str) -> float:
        named = self.program.goals[self.roles.index(role)]
        return max(map(float, self._holding(named, self._model(state, {}))), default=0.0)

    def step(self, state: State, moves: Mapping[str, str]) -> Moved:
        model = self._model(state, moves)
        following = frozenset(self._holding(self.program.next, model))
        if not self._is_gdl2:
            told = tuple(sorted(f"(did {role} {move})" for role, move in moves.items()))
            return Moved(following, dict.fromkeys(self.roles, told))
        seen = zip(self.roles, self.program.sees, strict=True)
        return Moved(following, {role: self._holding(named, model) for role, named in seen})

    def texts(self, state: State) -> tuple[str, ...]:
        return tuple(sorted(state))

    def _holding(self, named: Named, model: set[int]) -> tuple[str, ...]:
        return tuple(text for text, atom in named if atom in model)

    def _model(self, state: State, moves: Mapping[str, str]) -> set[int]:
        key = (state, tuple(sorted(moves.items())))
        if self._known[0] == key:
            return self._known[1]
        model = {ALWAYS} | {self._fluents[fluent] for fluent in state}
        model |= {self._moves[self.roles.index(role)][move] for role, move in moves.items()}
        for component in self._components:
            grown = True
            while grown:
                grown = False
                for atom in component:
                    if atom not in model and any(
                        all((abs(x) in model) == (x > 0) for x in body)
                        for body in self._rules[atom]
                    ):
                        model.add(atom)
                        grown = len(component) > 1
        self._known = key, model
        return model

    def _ordered(self) -> list[list[int]]:
        """Atoms with rules, in groups that depend on each other, callees first."""
        edges = {
            head: {abs(x) for body in bodies for x in body} for head, bodies in self._rules.items()
        }
        size = 1 + max((max(x, *found) for x, found in edges.items() if found), default=0)
        ordered = []
        for component in strong_components(edges, size):
            members = set(component)
            bodies = [body for atom in component for body in self._rules.get(atom, ())]
            assert not any(-x in members for body in bodies for x in body), "not stratified"
            if component[0] in self._rules:
                ordered.append(component)
        return ordered
