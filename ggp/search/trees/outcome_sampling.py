"""Online outcome sampling: learns strategies that converge to an equilibrium, also mixed ones.

Trees like those of `TreeSearch`, where choices match regrets instead of UCB1 (`selection`).
Lanes begin in three kinds of places, and only one role of each lane learns:

    our particles                         we learn                  targeting, as in the paper
    states another role thinks possible   that role learns
    the start of the game                 each role, in turn

In a small game nearly all lanes begin at the start, which converges best.

The paper (Lisy, Lanctot & Bowling, AAMAS 2015) sends all lanes from the start, most of them towards
our own path. Here they begin in the particles of the bag right away. The probability of a particle
depends on how the others play, which the trees estimate: the prior of a particle is multiplied by
the average strategies along its paths. Roles learn only in states that *they* think possible, so
that they do not get what we know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import first_seen
from ggp.machine.base import FloatArray
from ggp.search.anytime import Deadline
from ggp.search.estimates import Estimates
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.selection import Regrets
from ggp.search.trees.tree_search import Elsewhere, Particles, Roots, TreeSearch, joined

PRIOR_SHARE = 0.1
"""Share of the lanes of a bag that begin by its weights alone, whatever strategies say."""


REFRESH = 1.1
"""Growth of the number of lanes after which particles are reweighted by the current strategies."""


WHOLE_GAME, WHOLE_SHARE = 8, 0.95
"""While there are this many times as many lanes as worlds, nearly all lanes begin at the start of
the game: they know all of it, and need not be led to where we are."""


class Matching(NamedTuple):
    """Parameters of regret matching.

    Attributes:
        exploration: probability with which a learner chooses uniformly.
        from_start: share of the lanes that begin at the start of the game.
    """

    exploration: float = 0.4
    from_start: float = 0.1


class OutcomeSampling(TreeSearch):
    """The `Search` of the candidates of one bag whose entries have views.

    Args:
        elsewhere: the states the others may think possible.
        submitted: see `TreeSearch`; lanes try the other moves as well, since regrets compare them.
    """

    most_lanes = 256

    def __init__(
        self,
        tree: PathsTree,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        elsewhere: Elsewhere | None = None,
        submitted: int | None = None,
        matching: Matching | None = None,
    ) -> None:
        self._matching = matching or Matching()
        super().__init__(tree, bags, rng, deadline, elsewhere, submitted)
        self._prior = self._roots
        self._learner = np.asarray(self._roots.learns.argmax(axis=1), dtype=np.int64)
        self._views = tree.views_of(self._roots.worlds)
        self._from_start = (self._views < len(tree.machine.roles)).all(axis=1)
        self._refresh_at = 0
        self._sent = np.zeros(len(tree.machine.roles))

    def strategy(self, estimates: Estimates) -> FloatArray:
        """`[C]` the average strategy at the role's path, which is the one to play; sums to 1.

        Uniform if nothing was learned.
        """
        sums = self._tree.nodes.sums(self._path)
        average = dict(zip(sums.moves.tolist(), sums.average.tolist(), strict=True))
        shares = np.array([average[move] for move in estimates.moves.values.tolist()])
        total = shares.sum()
        return shares / total if total > 0 else np.full(len(shares), 1 / len(shares))

    def _begin(self, parts: Sequence[Particles], shares: Sequence[float]) -> Roots:
        """Begin lanes from which only the role of their bag learns; from the start, each role."""
        roles = np.arange(len(self._machine.roles))
        found: list[Roots] = []
        # The number of a path of no turns is that of its role.
        first = self._machine.initial(1), roles[None].copy(), -1
        *begun, start = self._tree.begin([*self._particles(parts), first])
        for part, share, worlds in zip(parts, shares, begun, strict=True):
            weights = share * part.weights / part.weights.sum()
            found.append(Roots(worlds, weights, np.tile(roles == part.role, (len(worlds), 1))))
        learners = roles[roles != self._machine.random_role]
        size = len(learners)
        each = Roots(np.repeat(start, size), np.full(size, 1 / size), learners[:, None] == roles)
        return joined([*found, each])

    def _refresh(self) -> None:
        """Draw roots by weight and by current strategies, with the odds and reach of their
        lanes."""
        prior = self._prior
        reach = np.column_stack([self._tree.nodes.reach(column) for column in self._views.T])
        reach[np.arange(len(reach)), self._learner] = 1.0
        # Roots of one learner form one set of weights, except the start of the game.
        _, group = first_seen(2 * self._learner + self._from_start)
        totals = np.bincount(group, prior.weights)[group]
        weights = prior.weights / totals
        posterior = weights * reach.prod(axis=1)
        posterior /= np.bincount(group, posterior)[group]
        drawn = PRIOR_SHARE * weights + (1 - PRIOR_SHARE) * posterior
        self._odds, self._reach = weights / drawn, reach
        small = WHOLE_GAME * self._tree.num_worlds < self._lanes_done
        share = WHOLE_SHARE if small else self._matching.from_start
        shares = np.where(self._from_start, share, 1 - share)
        if self._from_start.all():
            shares[:] = 1.0
        self._roots = prior._replace(weights=shares * totals * drawn)

    def _send_wave(self, size: int) -> None:
        if self._lanes_done >= self._refresh_at:
            self._refresh_at = int(REFRESH * self._lanes_done) + 1
            self._refresh()
        mine = np.flatnonzero(self._learner == self._next_learner(size))
        drawn = self._roots.draw(size, self._rng, mine)
        # Strategies count by their age: the first ones are little better than uniform play.
        self._tree.age += size
        rule = Regrets(
            self._matching.exploration, self._tree.age, self._odds[drawn], self._reach[drawn]
        )
        roots = self._roots
        self._tree.wave(roots.worlds[drawn], roots.learns[drawn], self._rng, self._deadline, rule)

    def _next_learner(self, size: int) -> int:
        """The role furthest behind its share of lanes, which learns from the next wave.

        Each role responds to what the others have just learned. If all learned at once, they would
        chase each other.
        """
        owed = np.bincount(self._learner, self._roots.weights, len(self._sent))
        owed *= (self._sent.sum() + size) / owed.sum()
        role = int((owed - self._sent).argmax())
        self._sent[role] += size
        return role
