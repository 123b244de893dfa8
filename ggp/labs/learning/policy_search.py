"""One step of search on a policy: values of moves where everybody goes on as was learnt.

The update-equivalence framework (S. Sokota et al., ICLR 2024): what search adds to a policy is a
step of the learning algorithm itself, made only where the role stands. For magnetic mirror descent,
by which policies are learnt here, this step is

    shares ∝ policy * exp(value / temperature)

It needs no public information: values are means over a belief that is weighted by how likely the
others, who move by their policies, were to come there. Values do not depend on the role's own
shares at this place, which a match comes to only once. So N steps are one of N times the length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.belief import Bags, never
from ggp.labs.learning.env.kernels import U64
from ggp.labs.learning.selfplay import LearntPolicy
from ggp.labs.learning.selfplay.path_rows import NetPaths
from ggp.labs.learning.selfplay.rollouts import Rollouts
from ggp.machine.base import FloatArray, IntArray, Machine, player_roles
from ggp.search.anytime import Deadline, OutOfTime, Pace
from ggp.search.estimates import Estimates, Tally, candidates
from ggp.search.trials import Results, plan_round

SIDE_BY_SIDE = 256
"""Rollouts that take about as long together as a single one."""

LANES_AT_ONCE = 1 << 13
"""Rollouts side by side: bounds memory."""


class PolicySearch:
    """Values of the candidates of one bag, improved round by round, by rollouts of policies.

    Args:
        bag: one bag with particles. Without views, what the others know is not known: they then
            move at random.
        policies: of each player, in the order of `rows.names`.
        deadline: looked at during rounds.

    Attributes:
        moves: see `Search`.
    """

    side_by_side = SIDE_BY_SIDE

    def __init__(
        self,
        machine: Machine,
        bag: Bags,
        rollouts: Rollouts,
        policies: Sequence[LearntPolicy | None],
        rows: NetPaths,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> None:
        self._machine, self._bag, self._rollouts = machine, bag, rollouts
        self._rng, self._deadline, self._rows = rng, deadline, rows
        self.moves = candidates(machine, bag)
        self._tally = Tally(len(self.moves.values))
        self._role = player_roles(machine).index(bag.role)
        self._turns = 0
        self._known = self._known_rows(policies)
        self._pace = Pace(deadline, SIDE_BY_SIDE, LANES_AT_ONCE, least=SIDE_BY_SIDE)

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Make `count` more rollouts of every candidate, or of those chosen.

        Raises:
            OutOfTime: not all could be made; candidates that got all of theirs count.
        """
        bag = self._bag
        trials = plan_round(bag, self.moves, count, self._rng, chosen)
        results = Results(trials, sum(self._machine.goal_range) / 2)
        stop = never if self._deadline is None else self._deadline.passed
        try:
            for start, end in self._pace.batches(len(trials)):
                strata, counts = trials.part(start, end)
                lanes = np.repeat(trials.lanes[strata], counts)
                moves = np.repeat(trials.moves[strata], counts)
                ended = self._rollouts.run(
                    bag.sets.states.take(lanes),
                    [rows[lanes] for rows in self._known],
                    self._turns,
                    self._role,
                    self._rows.actions(moves),
                    self._rng,
                    stop,
                )
                if stop():
                    raise OutOfTime
                goals = np.ascontiguousarray(ended.goals[:, self._role])
                results.add(start, goals, ended.turns)
        finally:
            self._tally.add(results, count, exact=bool(bag.exact.all()))

    def estimates(self) -> Estimates:
        """The values so far."""
        return self._tally.estimates(self.moves)

    def _known_rows(self, policies: Sequence[LearntPolicy | None]) -> list[U64]:
        """`[N, W]` of each player, what it knows in each entry."""
        bag, views, found = self._bag, self._bag.sets.views, []
        for number, role in enumerate(player_roles(self._machine)):
            policy, paths = policies[number], None
            if role == bag.role:
                paths = np.full(len(bag.sets.states), bag.paths[0])
                self._turns = self._rows.depth(int(bag.paths[0]))
            elif views is not None:
                paths = views[:, role]
            if policy is None or policy.features.reads_state or paths is None:
                width = 0 if policy is None else policy.features.num_words
                found.append(np.zeros((len(bag.sets.states), width), dtype=np.uint64))
            else:
                found.append(self._rows.rows(policy.features, paths))
        return found


def stepped(policy: FloatArray, values: FloatArray, temperature: float) -> FloatArray:
    """`[M]` shares of moves after a step of mirror descent from a policy.

    Args:
        policy: `[M]` shares; they sum to 1.
        values: `[M]` of the moves.
        temperature: above 0, in the unit of values: a move that is better by so much becomes e
            times as likely, compared with the other.
    """
    logs = np.log(np.maximum(policy, 1e-12)) + (values - values.max()) / temperature
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())
