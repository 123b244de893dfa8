"""Numbers a game's moves, percepts and fluents, for environments and learners.

`names_of` takes a game's definition and machine and returns `Names`, where each index has a text.
Every list is sorted, or in the order of the circuit, which is sorted too: so an index means the
same in every process. All roles share the indices of moves and of percepts. Programs that store
learnt weights store `digest` with them, and compare it with that of their game.
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
from ggp.gdl.analysis.told_moves import PLAIN
from ggp.gdl.nearest import unknown
from ggp.gdl.program import LEGAL, RANDOM, SEES, TRUE, Program
from ggp.machine.base import IntArray, Machine
from ggp.machine.definition import GameDefinition
from ggp.machine.on_circuit import on_circuit

MAX_NAMES = 1 << 16
"""Greatest number of names of a kind in a game without a circuit, where an upper bound counts."""


@dataclass(frozen=True)
class Names:
    """The names of one game.

    >>> from ggp.machine.games import build_machine, load_program
    >>> game = load_program("exploding_bomb")
    >>> names = names_of(game, build_machine(game, "propnet"))
    >>> names.roles, names.moves, names.percepts
    (('agent',), ('(cut blue)', '(cut red)', 'ask', 'noop', 'wait'), ('blue', 'red'))
    >>> names.move("wait")
    4

    Attributes:
        rules: digest of the rules.
        roles: `[R]` the players, in the order of the rulesheet, without `random`.
        moves: `[A]` of all players together, sorted, as canonical KIF.
        chance: `[C]` moves of `random`, sorted; none if they are drawn part by part.
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
        """128-bit hex digest of the rules and of all names: equal digests mean equal indices."""
        lists = (self.roles, self.moves, self.chance, self.percepts, self.fluents)
        text = "\n".join([self.rules, *("\t".join(names) for names in lists)])
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def move(self, text: str) -> int:
        """The index of a move given as KIF.

        Raises:
            ConfigError: no player ever has this move.
        """
        return _index_of(self._places["move"], text, "move")

    def percept(self, text: str) -> int:
        """The index of a percept given as KIF.

        Raises:
            ConfigError: no player ever gets this percept.
        """
        return _index_of(self._places["percept"], text, "percept")

    def fluent(self, text: str) -> int:
        """The index of a fluent given as KIF, without `true`.

        Raises:
            ConfigError: no such fluent may change.
        """
        return _index_of(self._places["fluent"], text, "fluent")

    def token_text(self, token: int) -> str:
        """The text of a token of a path: a move, a percept, or an empty string for 0."""
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
        index = self._places["percept"]
        rows = [[index.get(_reveals(role, move), -1) for move in self.moves] for role in self.roles]
        return np.array(rows, dtype=np.int64).reshape(len(self.roles), len(self.moves))


def _index_of(indices: dict[str, int], text: str, kind: str) -> int:
    index = indices.get(canonical_term(text))
    if index is None:
        raise ConfigError(unknown(kind, text, list(indices), f"{len(indices)} are known"))
    return index


def names_of(game: GameDefinition, machine: Machine) -> Names:
    """The names of a game.

    A circuit lists its own names. Otherwise they are all combinations of the domains of arguments,
    which may be more than occur.

    Raises:
        ConfigError: there are no rules to list them from, or too many names, or infinitely many.
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
            percepts = _together([_reveals(role, m) for m in legal[role].names] for role in roles)
        else:
            percepts = _together(sees[role].names for role in roles)
        return Names(game.digest, roles, moves, chance, percepts, circuit.fluents, is_plain)
    domains = Domains(program.rules)
    # Arguments are not distinguished by roles.
    moves = _listed(domains, program, LEGAL, 1, "moves")
    percepts = _listed(domains, program, SEES, 1, "percepts")
    if is_plain:
        percepts = tuple(sorted(_reveals(*pair) for pair in product(roles, moves)))
    chance = moves if RANDOM in machine.roles else ()
    fluents = _listed(domains, program, TRUE, 0, "fluents")
    return Names(game.digest, roles, moves, chance, percepts, fluents, is_plain)


def _together(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names}))


def _reveals(role: str, move: str) -> str:
    """The percept of everybody after a role's move in plain GDL."""
    return f"({PLAIN} {role} {move})"


def _listed(
    domains: Domains, program: Program, relation: tuple[str, int], argument: int, kind: str
) -> tuple[str, ...]:
    terms = domains.values(position(relation, argument), MAX_NAMES)
    if terms is None or growing_term(program.rules) is not None:
        raise ConfigError(
            f"{program.source.name} has no circuit, and its {kind} are too many to be numbered "
            f"(more than {MAX_NAMES:,} by what the rules say); there is no environment for it"
        )
    return tuple(sorted(map(str, terms)))
