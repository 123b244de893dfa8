"""The meaning of the indices of an environment: moves, percepts and fluents, by their texts.

Every list is sorted, or comes in the order of the circuit, which is sorted too: so an index means
the same in every process. All roles share the indices of moves and of percepts. An index refers to
a text of *these* names: programs that store what was learnt store `digest` beside it, and compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import product

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl import canonical_term
from ggp.gdl.analysis.domains import Domains, position
from ggp.gdl.analysis.growth import growing_term
from ggp.gdl.analysis.joint_move_percepts import PLAIN
from ggp.gdl.nearest import unknown
from ggp.gdl.program import LEGAL, RANDOM, SEES, TRUE, Program
from ggp.machine.base import IntArray, Machine
from ggp.machine.definition import GameDefinition
from ggp.machine.on_circuit import on_circuit

MOST_NAMES = 1 << 16
"""Most names of a kind in a game without a circuit, where their number is estimated from above."""


@dataclass(frozen=True)
class Names:
    """The names of one game.

    Attributes:
        rules: digest of the rules.
        roles: `[R]` the players, in the order of the rulesheet, without `random`.
        moves: `[A]` of all players together, sorted, as canonical KIF.
        chance: `[C]` moves of `random`, sorted; none where they are drawn part by part.
        percepts: `[P]` of all players together, sorted.
        fluents: `[F]` those that may change.
        is_plain: whether everybody is told the joint move, as in plain GDL.
    """

    rules: str
    roles: tuple[str, ...]
    moves: tuple[str, ...]
    chance: tuple[str, ...]
    percepts: tuple[str, ...]
    fluents: tuple[str, ...]
    is_plain: bool

    @cached_property
    def digest(self) -> str:
        """128-bit hex digest of the rules and of all names: if it is equal, so are the indices."""
        lists = (self.roles, self.moves, self.chance, self.percepts, self.fluents)
        text = "\n".join([self.rules, *("\t".join(names) for names in lists)])
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def move(self, text: str) -> int:
        """The index of a move given as KIF.

        Raises:
            ConfigError: no player ever has this move.
        """
        return _found(self._places["move"], text, "move")

    def percept(self, text: str) -> int:
        """The index of a percept given as KIF.

        Raises:
            ConfigError: no player ever gets this percept.
        """
        return _found(self._places["percept"], text, "percept")

    def fluent(self, text: str) -> int:
        """The index of a fluent given as KIF, without `true`.

        Raises:
            ConfigError: no such fluent may change.
        """
        return _found(self._places["fluent"], text, "fluent")

    def token_text(self, token: int) -> str:
        """The text of a token of a path: a move, a percept, or nothing for 0."""
        if token == 0:
            return ""
        names = (*self.moves, *self.percepts)
        return names[token - 1]

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        kinds = {"move": self.moves, "percept": self.percepts, "fluent": self.fluents}
        return {kind: {text: k for k, text in enumerate(names)} for kind, names in kinds.items()}

    def told_of_moves(self) -> IntArray:
        """`[R, A]` the percept of plain GDL that reveals a role's move to everybody, -1 for
        none."""
        place = self._places["percept"]
        rows = [[place.get(_told(role, move), -1) for move in self.moves] for role in self.roles]
        return np.array(rows, dtype=np.int64).reshape(len(self.roles), len(self.moves))


def _found(places: dict[str, int], text: str, kind: str) -> int:
    found = places.get(canonical_term(text))
    if found is None:
        raise ConfigError(unknown(kind, text, list(places), f"{len(places)} are known"))
    return found


def names_of(game: GameDefinition, machine: Machine) -> Names:
    """The names of a game.

    With a circuit they are those of the circuit; otherwise all that the rules could make, judging
    by what their arguments can be, which may be more.

    Raises:
        ConfigError: there are no rules to list them from, or they would be too many, or cannot be
            listed.
    """
    program = game.as_program()
    if not program.rules:
        raise ConfigError(
            f"{game.source.name} has no rules to read its moves and percepts from; a game that is "
            "learnt needs a rulesheet"
        )
    roles = tuple(role for role in machine.roles if role != RANDOM)
    is_plain = not program.is_gdl2
    if on_circuit(machine):
        circuit = machine.circuit
        legal = dict(zip(circuit.roles, circuit.legal, strict=True))
        moves = _together(legal[role].names for role in roles)
        chance = legal[RANDOM].names if RANDOM in legal else ()
        sees = dict(zip(circuit.roles, circuit.sees, strict=True))
        if is_plain:
            percepts = _together([_told(role, m) for m in legal[role].names] for role in roles)
        else:
            percepts = _together(sees[role].names for role in roles)
        return Names(game.digest, roles, moves, chance, percepts, circuit.fluents, is_plain)
    domains = Domains(program.rules)
    # Arguments are not distinguished by roles.
    moves = _listed(domains, program, LEGAL, 1, "moves")
    percepts = _listed(domains, program, SEES, 1, "percepts")
    if is_plain:
        percepts = tuple(sorted(_told(*pair) for pair in product(roles, moves)))
    chance = moves if RANDOM in machine.roles else ()
    fluents = _listed(domains, program, TRUE, 0, "fluents")
    return Names(game.digest, roles, moves, chance, percepts, fluents, is_plain)


def _together(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names}))


def _told(role: str, move: str) -> str:
    """The percept of everybody after a role's move in plain GDL."""
    return f"({PLAIN} {role} {move})"


def _listed(
    domains: Domains, program: Program, relation: tuple[str, int], argument: int, kind: str
) -> tuple[str, ...]:
    terms = domains.values(position(relation, argument), MOST_NAMES)
    if terms is None or growing_term(program.rules) is not None:
        raise ConfigError(
            f"{program.source.name} has no circuit, and its {kind} are too many to be numbered "
            f"(more than {MOST_NAMES:,} by what the rules say); there is no environment for it"
        )
    return tuple(sorted(map(str, terms)))
