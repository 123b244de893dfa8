"""Random games of GDL-II, as rulesheets: small, with hidden information, and of constant sum.

A state is a node of a layer, and each joint move leads to some node of the next layer. A role that
is not told the node knows no more of it than its own moves and earlier percepts say. Moves depend
on the turn only, so that every role always knows its own.

Games with the same settings are of similar size: how often each player and chance have a choice, of
how many moves, and how often a player is told the node, is the same in all of them. When is random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

_NODES = 4
"""Nodes of a layer but the first."""

_MOVES = "abc"
_STEP = 10
"""The scores of the first roles are multiples of this."""


@dataclass(frozen=True, slots=True)
class RandomRules:
    """What a random game is like.

    Attributes:
        seed: the same game for the same seed and settings, in every version of Python.
        roles: number of players, at least 2.
        turns: joint moves until the end, at least 1.
        hidden: share of the turns but the last after which a player is not told the node, 0 to 1.
        chance: share of the turns in which chance moves, 0 to 1.
    """

    seed: int
    roles: int = 2
    turns: int = 4
    hidden: float = 0.5
    chance: float = 0.3

    def text(self) -> str:
        """The rulesheet, in KIF.

        >>> RandomRules(seed=1).text() == RandomRules(seed=1).text() != RandomRules(seed=2).text()
        True
        """
        rng = random.Random(self.seed)
        players = [f"player{number}" for number in range(1, self.roles + 1)]
        choices = self._choices(rng, players)
        all_roles = [*players, *(["random"] if any("random" in turn for turn in choices) else [])]
        does = " ".join(f"(does {role} ?m{number})" for number, role in enumerate(all_roles))
        moves = " ".join(f"?m{number}" for number in range(len(all_roles)))
        tables = [
            *self._transitions(rng, all_roles, choices),
            *self._told(rng, players),
            *self._scores(rng, players),
        ]
        lines = [
            f"; A random game, of seed {self.seed}",
            ";",
            f"; Nodes in {self.turns + 1} layers. Every joint move leads to a node of the next",
            "; layer, and the scores are those of the last node.",
            ";",
            "; Moves     a, b or c, as the turn allows; noop where there is no choice",
            "; Percepts  (turn N): to everybody; (reached NODE): to a role that is told the node",
            "; Scores    those of all players together are 100",
            "",
            *(f"(role {role})" for role in all_roles),
            "",
            "(init (at n0))",
            "(init (turn 0))",
            *(f"(succ {turn} {turn + 1})" for turn in range(self.turns)),
            "",
            "; choice R T M: in turn T role R has the move M",
            "(<= (legal ?r ?m) (true (turn ?t)) (choice ?r ?t ?m))",
            *(
                f"(choice {role} {turn} {move})"
                for turn, of_turn in enumerate(choices)
                for role in all_roles
                for move in of_turn.get(role, ("noop",))
            ),
            "",
            "; leads N M... V: from the node N these moves lead to the node V",
            f"(<= (to ?v) (true (at ?n)) {does} (leads ?n {moves} ?v))",
            "(<= (next (at ?v)) (to ?v))",
            "(<= (next (turn ?u)) (true (turn ?t)) (succ ?t ?u))",
            "",
            "; told R T: role R is told where the moves of turn T lead",
            "(<= (sees ?r (turn ?u)) (role ?r) (true (turn ?t)) (succ ?t ?u))",
            "(<= (sees ?r (reached ?v)) (true (turn ?t)) (told ?r ?t) (to ?v))",
            "",
            "; worth R V G: the score of role R at the last node V",
            f"(<= terminal (true (turn {self.turns})))",
            "(<= (goal ?r ?g) (true (at ?v)) (worth ?r ?v ?g))",
            "",
            *tables,
        ]
        if not any(line.startswith("(told") for line in tables):
            lines = [line for line in lines if "told ?r" not in line]
        return "\n".join(lines) + "\n"

    def _choices(self, rng: random.Random, players: list[str]) -> list[dict[str, tuple[str, ...]]]:
        """The moves of the roles that have a choice, turn by turn.

        Players have one in turn, and each in half of the others' turns too; every second one is of
        three moves, the others are of two.
        """
        turns = range(self.turns)
        choices: list[dict[str, tuple[str, ...]]] = [{} for _ in turns]
        for index, player in enumerate(players):
            own = [turn for turn in turns if turn % self.roles == index]
            others = [turn for turn in turns if turn % self.roles != index]
            active = own + rng.sample(others, len(others) // 2)
            for number, turn in enumerate(rng.sample(active, len(active))):
                choices[turn][player] = tuple(_MOVES[: 2 + number % 2])
        for turn in rng.sample(turns, round(self.chance * self.turns)):
            choices[turn]["random"] = tuple(_MOVES)
        return choices

    def _transitions(
        self,
        rng: random.Random,
        all_roles: list[str],
        choices: list[dict[str, tuple[str, ...]]],
    ) -> Iterator[str]:
        """The table `leads`."""
        for turn, of_turn in enumerate(choices):
            options = [of_turn.get(role, ("noop",)) for role in all_roles]
            for node, joint in product(_layer(turn), product(*options)):
                yield f"(leads {node} {' '.join(joint)} {rng.choice(_layer(turn + 1))})"

    def _told(self, rng: random.Random, players: list[str]) -> Iterator[str]:
        """The table `told`: players are told after different turns, as far as there are enough.

        What both are told would be common knowledge, and the rest a small game of its own.
        """
        turns = rng.sample(range(self.turns - 1), self.turns - 1)
        number = round((1 - self.hidden) * len(turns))
        for index, player in enumerate(players):
            first = index * number
            told = (turns[place % len(turns)] for place in range(first, first + number))
            yield from (f"(told {player} {turn})" for turn in sorted(told))

    def _scores(self, rng: random.Random, players: list[str]) -> Iterator[str]:
        """The table `worth`: cuts of 100 into a share for each player."""
        for node in _layer(self.turns):
            cuts = sorted(rng.randrange(0, 101, _STEP) for _ in players[1:])
            shares = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
            for player, share in zip(players, shares, strict=True):
                yield f"(worth {player} {node} {share})"


def _layer(turn: int) -> list[str]:
    """The nodes of a layer."""
    first = 1 + (turn - 1) * _NODES
    return [f"n{number}" for number in range(first, first + _NODES)] if turn else ["n0"]


def small(seed: int) -> RandomRules:
    """A random game that is solved at once: some 500 nodes, and 40 to 130 information sets."""
    return RandomRules(seed)


def larger(seed: int) -> RandomRules:
    """One that linear programs take long for: over 100,000 nodes, 300 to 1,000 information sets."""
    return RandomRules(seed, turns=8, hidden=0.9)
