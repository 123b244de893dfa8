"""Chooses the player that suits a game: from rules and machine to a player's name and a reason.

`auto` delegates to this player, and `ggp advise` prints it.

    one player, and no chance                      `puzzle`: a line to the best goal
    one player, or two with constant sum, and      the solution: an optimum or an equilibrium, with
    few enough states to solve the game            moves drawn from the mixed strategy
    two players take turns, everybody knows        `pimc`: layers of merged states look further
    everything, and moves can be swapped           than trees
    several players, everybody knows everything    `mcts`
    other games with as few states                 `hyperplay2`: it has time for many simulations
    one player, and something is hidden            `hyperplay2`: it asks before it guesses
    two with constant sum, few different matches   `resolve`: the rest of the game is solved
    knowing the world would be worth a lot         `hyperplay2`: the others' knowledge decides
    any other                                      `ismcts`

`measure_merging` measures whether moves can be swapped. The value of knowing the world is the
*clairvoyance gap* (`ggp.study.properties`). All this comes from random matches with fixed seeds. So
the choice depends only on the rules, unless a caller has a clock. The only memory between matches
is that a game is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from ggp.belief import Bags
from ggp.errors import GGPError, SolvingError
from ggp.machine.base import UNKNOWN, Machine, is_open, player_roles
from ggp.machine.compiling.disk_cache import makers_version, user_cache
from ggp.machine.compiling.kernel_version import code_version
from ggp.machine.definition import GameDefinition
from ggp.players.hyperplay import HyperPlay, HyperPlayOptions
from ggp.players.parts.belief_player import Risk
from ggp.players.player import Choice, Context, ObservedTurn
from ggp.search.anytime import Deadline, OutOfTime, check, timed_machine
from ggp.search.layers import Layers
from ggp.search.puzzles import is_puzzle
from ggp.study.matches import LaneTurn

if TYPE_CHECKING:
    from ggp.solve.solver import RolePart

PartOf: TypeAlias = "Callable[[int], RolePart]"
"""Makes the part of a role, by its index, in a solution."""

SOLUTION = "solution"
"""Name of the choice if a game is solved."""

DECISIVE_GAP = 20.0
"""Least clairvoyance gap of a role, in points, for which `hyperplay2` is chosen. It is not worse
than `ismcts` in games with a greater gap (battleships_in_fog with 33 to 46 points, mastermind with
28 to 41), and was worse in a game with 12 points and in others with less than 8: see
docs/measured/strength.md."""

MATCHES, DECISIONS, LARGEST_SET = 40, 20, 300
"""Arguments of `measure_gaps`: between 0.05 and 1.3 s on a propositional network."""

MERGES = 1.5
"""Least number of joint moves of two turns for each state after them, for which `pimc` is chosen.
There are 1.9 to 3.3 in dotsAndBoxes, nim4 and chomp, where it beat `mcts`, and at most 1.16 in 23
other games: see docs/measured/strength.md."""

MODERATE = 1e7
"""Most matches of a game, in the mean of random ones, for which `resolve` is chosen: 400,000 in
random games in which it loses least, and 10 billion in phantom_ttt, where `ismcts` is as good."""

LONGEST = 100
"""Most turns of such a game."""

UNMEASURED = frozenset({"prolog"})
"""Backends on which these measurements would take too long."""


class Chosen(NamedTuple):
    """A choice.

    Attributes:
        player: the name of a player, or `SOLUTION`.
        why: the reason, a sentence without a full stop.
        part: the role's part of the solution.
        is_final: false if time was up before the game was examined.
    """

    player: str
    why: str
    part: RolePart | None = None
    is_final: bool = True


def choose_player(
    machine: Machine,
    role: int,
    most_states: int,
    program: GameDefinition | None,
    deadline: Deadline | None = None,
) -> Chosen:
    """The player that suits a game.

    Args:
        role: the role to choose for.
        most_states: see `look_into`.
        program: the rules, if known.
        deadline: the end of the examination; the choice is then one that needs none.
    """
    choices = _choices(cast("Hashable", machine))
    if most_states not in choices:
        try:
            choices[most_states] = _select(machine, most_states, program, deadline)
        except OutOfTime:
            is_public = len(player_roles(machine)) > 1 and is_open(machine)
            why = "the game is not examined yet: trees need the least"
            return Chosen("mcts" if is_public else "ismcts", why, is_final=False)
    chosen, part_of = choices[most_states]
    return chosen if part_of is None else chosen._replace(part=part_of(role))


@lru_cache(maxsize=8)
def _choices(machine: Hashable) -> dict[int, tuple[Chosen, PartOf | None]]:
    """Cached choices: each match of a series has a new player on the same machine, and a game is
    solved once for all roles."""
    return {}


def _select(
    machine: Machine,
    most_states: int,
    program: GameDefinition | None,
    deadline: Deadline | None,
) -> tuple[Chosen, PartOf | None]:
    if is_puzzle(machine):
        why = "one role plays, without chance: a line of moves is looked for"
        return Chosen("puzzle", why), None
    looked = look_into(machine, most_states, program, deadline)
    if looked.part_of is not None:
        return Chosen(SOLUTION, "the game is small enough to be solved"), looked.part_of
    return _unsolved(timed_machine(machine, deadline), is_small=looked.is_small), None


def _unsolved(machine: Machine, *, is_small: bool) -> Chosen:
    if len(player_roles(machine)) > 1 and is_open(machine):
        merging = _merging(cast("Hashable", machine))
        if merging is not None and merging >= MERGES:
            why = f"everybody knows everything, and {merging:.1f} pairs of moves lead to each state"
            return Chosen("pimc", f"{why}: merged layers look further than trees")
        return Chosen("mcts", "everybody knows everything, and it is not solved: trees look ahead")
    if is_small:
        return Chosen("hyperplay2", "the game is small: there is time for many simulations")
    if len(player_roles(machine)) == 1 and not is_open(machine):
        # Random playouts of trees show no use of a question that needs others to follow: see
        # number_guessing in docs/measured/strength.md.
        return Chosen("hyperplay2", "one role plays: its simulations ask before they guess")
    if _is_moderate(cast("Hashable", machine)):
        return Chosen("resolve", "two play for a constant sum: what is left is nearly solved")
    gap, name = max(_gaps(cast("Hashable", machine)), default=(None, ""))
    if gap is None:
        return Chosen("ismcts", "what is hidden is too much to look into: trees need the least")
    worth = f"knowing the world would be worth {gap:.1f} points to {name}"
    if gap >= DECISIVE_GAP:
        return Chosen("hyperplay2", f"{worth}: its simulations heed what each role would know")
    return Chosen("ismcts", f"{worth}, and to nobody more: trees look further ahead")


@lru_cache(maxsize=8)
def _merging(machine: Hashable) -> float | None:
    """See `measure_merging`; None unless two players take turns and it can be measured."""
    measured = cast("Machine", machine)
    if measured.backend in UNMEASURED or len(player_roles(measured)) != 2:
        return None
    try:
        return measure_merging(measured, seed=0, enough=MERGES)
    except GGPError:
        return None


@lru_cache(maxsize=8)
def _is_moderate(machine: Hashable) -> bool:
    """Whether two players play for a constant sum, and there are at most `MODERATE` matches.

    Random matches tell: the number of joint moves along one, multiplied, is the number of all
    matches in the mean (Knuth, 1975).
    """
    measured = cast("Machine", machine)
    if measured.backend in UNMEASURED or len(player_roles(measured)) != 2:
        return False
    try:
        return _has_few_matches(measured)
    except GGPError:
        return False


def _has_few_matches(measured: Machine) -> bool:
    """See `_is_moderate`."""
    players = player_roles(measured)
    rng, states = np.random.default_rng(0), measured.initial(MATCHES)
    open_, joint = np.arange(MATCHES), np.ones(MATCHES)
    total: float | None = None
    for _ in range(LONGEST):
        if not len(open_):
            return True
        turn = LaneTurn(measured, states)
        joint[open_] *= turn.counts.prod(axis=1)
        if joint.mean() > MODERATE:
            return False
        states = measured.step(states, turn.random(rng)).states
        over = measured.terminal(states)
        if over.any():
            sums = measured.goals(states.take(np.flatnonzero(over)))[:, players].sum(axis=1)
            total = float(sums[0]) if total is None else total
            if (sums != total).any():
                return False
        open_, states = open_[~over], states.take(np.flatnonzero(~over))
    return False


@lru_cache(maxsize=8)
def _gaps(machine: Hashable) -> tuple[tuple[float, str], ...]:
    """The clairvoyance gap and name of each role; empty if it cannot be measured."""
    from ggp.study.properties import measure_gaps

    measured = cast("Machine", machine)
    if measured.backend in UNMEASURED:
        return ()
    try:
        gaps = measure_gaps(measured, MATCHES, DECISIONS, LARGEST_SET, seed=0)
    except GGPError:
        return ()
    return tuple((gap, name) for name, gap in gaps.items())


# ------------------------------------------------------------------------
# Measures whether the order of moves matters: how far the states after two turns merge.
#
# turn 1    a       b        in one order or the other
#     turn 2    b       a        the same two lines are drawn: two joint moves, one state
#
# If both roles have the same moves, as in Nim or in dots and boxes, most pairs of moves can be
# swapped. A search in layers of merged states then looks many more turns ahead than a tree, which
# has a branch for each order. If each role has pieces or marks of its own, no two moves can be
# swapped.

TURNS = (0, 4, 8)
"""Turns of a random match after which it is measured: the first board may be symmetric."""

MAX_JOINT = 10_000
"""Most joint moves of a turn; states with more are skipped."""


def measure_merging(machine: Machine, seed: int, enough: float = 1.0) -> float | None:
    """Number of joint moves of two turns for each state after them: the least over a few states.

    Args:
        enough: measuring ends at a state with less.

    Returns:
        1 if all moves lead to different states, 2 if any two moves can be swapped, and more if
        moves often have the same effect; None if no state could be measured, because several roles
        move simultaneously, or there are too many moves.

    Raises:
        GGPError: a role has no legal move, or a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    states = machine.initial()
    lowest: float | None = None
    for turn in range(max(TURNS) + 1):
        if machine.terminal(states)[0]:
            break
        if turn in TURNS:
            ratio = _merging_after_two(Layers(machine, states, 0))
            if ratio is not None:
                lowest = ratio if lowest is None else min(lowest, ratio)
                if lowest < enough:
                    break
        states = machine.step(states, LaneTurn(machine, states).random(rng)).states
    return lowest


def _merging_after_two(layers: Layers) -> float | None:
    """Joint moves of the second turn for each state after it; None if it cannot be measured."""
    for _ in range(2):
        moves = layers.moves()
        if not 0 < moves.number <= MAX_JOINT or (moves.counts > 1).sum(axis=1).max() > 1:
            return None
        layers.grow()
    successors = layers.layers[-1].children
    return len(successors) / len(np.unique(successors))


# ------------------------------------------------------------------------
# Solves small games beforehand: of one player, or of two with constant sum.
#
# everybody knows the state, and moves are simultaneous    position by position
#     any other game                                           the tree of sequences
#
# Counts limit the size of a game, so that every computer solves the same games; a player with a
# start clock may allow more, within a time.

SOLVED_STATES = 400_000
"""Most states of a game that is solved: a propositional network takes half a second for them."""

SHARES = {"propnet": 1, "openspiel": 10}
"""Divides the number of states on a backend, because it is so many times slower; measured with
leduc_poker, which has some 9,000 states: 0.05 s, and 0.4 s on `openspiel`."""

SLOW_SHARE = 50
"""The divisor for all other backends."""

POSITION_JOINT_MOVES = 50
"""Most joint moves for each state of a game that is solved position by position."""

AT_ONCE_BY = 2_000
"""Number of positions within which some moves must be simultaneous: games in which players take
turns are left to tree search, which beats weak players more often and proves wins."""

TREE_JOINT_MOVES = 4
"""Most joint moves of one turn, for each state, of a game that is solved by its tree. Of 121 games
none that is solved has more, and what is too large mostly shows it here first."""

MAX_LEAVES = 30_000
"""Most leaves and sequences of a linear program: larger ones take longer than CFR+."""

SOLVE_SECONDS, CLOCKED_SECONDS = 5.0, 1.0
"""Time for linear programs, and for CFR+ if they fail: without a clock; and at most with one, since
they cannot be interrupted."""

ACCURACY = 0.005
"""Share of the goals' spread that a player may gain by deviating from the solution."""


class SolvedPlayer(HyperPlay):
    """Plays a role's part of a solution, and HyperPlay once it has lost its place in the game tree.

    It loses its place if its move or percepts of some turn are unknown.
    """

    tells_policy = True

    def __init__(self, part: RolePart, risk: Risk, context: Context) -> None:
        super().__init__(HyperPlayOptions(risk=risk), context)
        self._part = part

    def resume(self, snapshot: str, turns: Sequence[ObservedTurn]) -> int:
        """See `Believing`: in a small game all turns are soon followed."""
        return 0

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        place = self._place_at(int(bag.paths[0]))
        policy = None if place is None else self._part.choices(place)
        if policy is None:
            return super().decide(bag, deadline)
        moves, shares = policy
        return self.mixed(moves, shares), self.unvalued(moves.tolist())

    def _place_at(self, path: int) -> int | None:
        """The place in the solution at an incomplete path; None if it is lost."""
        place: int | None = self._part.start
        for move, percepts, _ in self.tracker.tree.turns(path).tolist():
            if place is None or UNKNOWN in (move, percepts):
                return None
            place = self._part.after(place, move, percepts)
        return place


class Looked(NamedTuple):
    """Findings about a game.

    Attributes:
        is_small: whether it has no more states than the limit; False if everybody knows the
            state, because then it makes no difference, or if an equilibrium took too long.
        part_of: makes a role's part of the solution, if the game can be solved with certainty: with
            one player, or two whose goals have a constant sum. In other games the value of a
            strategy depends on the others.
    """

    is_small: bool
    part_of: PartOf | None


def look_into(
    machine: Machine,
    most_states: int,
    program: GameDefinition | None = None,
    deadline: Deadline | None = None,
) -> Looked:
    """Enumerate a game, if it has few enough states, and solve it if possible.

    Args:
        machine: of the game.
        most_states: on a propositional network; 0 skips the game.
        program: the rules, if known; that the game is too large is then cached.
        deadline: the end of the search for states; what follows may take `CLOCKED_SECONDS` longer.

    Raises:
        OutOfTime: the deadline passed before all states were enumerated.
    """
    digest = None
    if program is not None:
        # Some machines reveal joint moves though the rules do not.
        digest = f"{program.digest}-{'told' if is_open(machine) else 'rules'}"
    most_states //= SHARES.get(machine.backend, SLOW_SHARE)
    if not most_states or (digest is not None and is_too_large(digest, most_states)):
        return Looked(False, None)
    is_by_position = len(player_roles(machine)) > 1 and is_open(machine)
    look = _by_position if is_by_position else _by_tree
    try:
        return look(timed_machine(machine, deadline), most_states, deadline)
    except SolvingError:
        check(deadline)
        if digest is not None:
            note_too_large(digest, most_states)
    except (GGPError, MemoryError):
        pass
    return Looked(False, None)


def _by_position(machine: Machine, most_states: int, deadline: Deadline | None) -> Looked:
    from ggp.solve.positions import (
        MAX_JOINT_MOVES,
        PositionBounds,
        PositionPart,
        solve_positions,
        suits,
    )

    if not suits(machine):
        return Looked(False, None)
    bounds = PositionBounds(
        most_states,
        min(POSITION_JOINT_MOVES * most_states, MAX_JOINT_MOVES),
        at_once_by=AT_ONCE_BY,
        is_over=lambda: deadline is not None and deadline.passed(),
    )
    solution = solve_positions(machine, bounds)
    if not solution.is_at_once or solution.nash_conv > ACCURACY * solution.goal_spread:
        return Looked(False, None)
    return Looked(False, cache(partial(PositionPart, solution)))


def _by_tree(machine: Machine, most_states: int, deadline: Deadline | None) -> Looked:
    from ggp.solve.solver import Part, solve_tree
    from ggp.solve.tree_builder import (  # with scipy, which takes long to import
        TreeBounds,
        build_tree,
    )

    bounds = TreeBounds(most_states, joint_moves=TREE_JOINT_MOVES)
    tree = build_tree(machine, bounds, split=True, keep_stands=True)
    if len(tree.players) > 1 and not tree.is_constant_sum:
        return Looked(True, None)
    seconds = SOLVE_SECONDS if deadline is None else min(deadline.left_s(), CLOCKED_SECONDS)
    # The gains of parts, which CFR+ solves one by one, add up.
    accuracy = ACCURACY / 2
    solution = solve_tree(tree, most_seconds=seconds, accuracy=accuracy, most_leaves=MAX_LEAVES)
    if solution.profile.nash_conv > ACCURACY * tree.goal_spread:
        check(deadline)
        return Looked(False, None)
    return Looked(True, cache(partial(Part, solution)))


# ------------------------------------------------------------------------
# A cache on disk of games that cannot be solved, mostly because they are too large.
#
# To find this out takes up to a second, which a player that takes over a match cannot spare. The
# answer is always the same, so caching it changes no decision.

_TOO_LARGE = b"too large"


def is_too_large(digest: str, most_states: int) -> bool:
    """Whether the game with a digest is known to have too many states."""
    return user_cache().get(_key(digest, most_states)) == _TOO_LARGE


def note_too_large(digest: str, most_states: int) -> None:
    """Remember that the game with a digest cannot be enumerated within `most_states` states."""
    user_cache().put(_key(digest, most_states), _TOO_LARGE)


def _key(digest: str, most_states: int) -> str:
    return f"{digest}-{makers_version()}-{_lookers_version()}-{most_states}"


@cache
def _lookers_version() -> str:
    """Version of the code that enumerates games and sets its limits."""
    return code_version(["solve", "players/choosing"])
