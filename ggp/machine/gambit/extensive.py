"""Reads `.efg`: a line for each node of the tree, every node before its children.

    c "" 1 "deal" { "king" 1/2 "queen" 1/2 } 0          chance
    p "" 1 1 "king" { "bet" "fold" } 0                  player 1 in information set 1
    p "" 2 1 "bet" { "call" "fold" } 0
    t "" 1 "call" { 2, -2 }                             the end, with outcome 1

The label and the moves of an information set may be left out once they were given, and so may the
label and the payoffs of an outcome. An outcome may stand at any node, and its payoffs are paid when
the node is reached; 0 is no outcome.
"""

from __future__ import annotations

from fractions import Fraction

from ggp.gdl.syntax.findings import quoted
from ggp.machine.gambit.tree import CHANCE, GambitTree, InformationSet, TreeNode
from ggp.machine.gambit.words import GambitText

_ROUNDING = Fraction(1, 1000)
"""Probabilities in decimals may miss a sum of 1 by this much, and are scaled."""


def read_extensive(words: GambitText) -> GambitTree:
    """The game in a file.

    Raises:
        GDLSyntaxError: the file is not of this format.
    """
    title, players = words.begin("EFG", "2")
    comment = words.comment()
    reader = _Reader(words, len(players))
    nodes = reader.nodes()
    return GambitTree(title, comment, tuple(players), tuple(reader.sets), tuple(nodes))


class _Reader:
    """Reads the nodes.

    Attributes:
        sets: the information sets so far.
    """

    def __init__(self, words: GambitText, num_players: int) -> None:
        self.sets: list[InformationSet] = []
        self._words, self._num_players = words, num_players
        self._set_numbers: dict[tuple[int, int], int] = {}
        self._payoffs: dict[int, tuple[Fraction, ...]] = {}

    def nodes(self) -> list[TreeNode]:
        """All nodes."""
        nodes = [self._node(-1, 0)]
        # Nodes whose branches are being read, with the number of the next branch.
        open_nodes = [(0, 0)]
        while open_nodes:
            parent, branch = open_nodes.pop()
            num_branches = self._num_branches(nodes[parent])
            if branch == num_branches:
                continue
            open_nodes.append((parent, branch + 1))
            if self._words.is_next("end"):
                self._words.fail(
                    "branches",
                    f"the file ends after {branch} of the {num_branches} branches of this node",
                    nodes[parent].start,
                )
            nodes.append(self._node(parent, branch))
            open_nodes.append((len(nodes) - 1, 0))
        if not self._words.is_next("end"):
            self._words.fail("branches", "the tree is complete, but more follows here")
        return nodes

    def _num_branches(self, node: TreeNode) -> int:
        return len(self.sets[node.sets[0]].actions) if node.sets else 0

    def _node(self, parent: int, branch: int) -> TreeNode:
        words = self._words
        start, kind = words.next.start, words.take("word", "a node (`c`, `p` or `t`)").value
        if kind not in ("c", "p", "t"):
            words.fail("gambit", f"a node begins with `c`, `p` or `t`, not {quoted(kind)}", start)
        words.text("the label of the node, in quotes,")
        sets: tuple[int, ...] = ()
        if kind != "t":
            sets = (self._set(CHANCE if kind == "c" else self._player(), start),)
        return TreeNode(sets, parent, branch, self._outcome(), start)

    def _player(self) -> int:
        start, number = self._words.next.start, self._words.integer("the number of the player")
        if not 1 <= number <= self._num_players:
            self._words.fail("players", f"there is no player number {number}", start)
        return number - 1

    def _set(self, player: int, start: int) -> int:
        """Number of the information set of a node."""
        words = self._words
        number = words.integer("the number of the information set")
        label, actions, shares = "", [], []
        is_given = words.is_next("text")
        if is_given:
            label = words.text("the label")
            words.mark("{", "`{` and the moves")
            while words.is_next("text"):
                actions.append(words.text("a move"))
                if player == CHANCE:
                    shares.append(words.number("the probability of the move"))
                words.skip_comma()
            words.mark("}", "`}` or the next move, in quotes,")
        known = self._set_numbers.get((player, number))
        if known is None:
            return self._new_set(player, number, label, actions, shares, start)
        before = self.sets[known]
        same = before.actions == tuple(actions)
        if is_given and not (same and (not shares or before.shares == self._scaled(shares, start))):
            self._words.fail(
                "information-set",
                f"information set {number} has other moves here than before "
                f"({', '.join(map(quoted, before.actions))})",
                start,
            )
        return known

    def _new_set(
        self,
        player: int,
        number: int,
        label: str,
        actions: list[str],
        shares: list[Fraction],
        start: int,
    ) -> int:
        if not actions:
            self._words.fail(
                "information-set",
                f"information set {number} has no moves: its first node must list them",
                start,
            )
        found = InformationSet(
            player, number, label, tuple(actions), self._scaled(shares, start), start
        )
        self._set_numbers[player, number] = len(self.sets)
        self.sets.append(found)
        return len(self.sets) - 1

    def _scaled(self, shares: list[Fraction], start: int) -> tuple[Fraction, ...]:
        """Probabilities that sum up to 1."""
        total = sum(shares, Fraction(0))
        if not shares or (total == 1 and min(shares) >= 0):
            return tuple(shares)
        if min(shares) < 0 or abs(total - 1) > _ROUNDING:
            message = f"probabilities must be 0 or more and sum up to 1, not to {float(total):g}"
            self._words.fail("chance", message, start)
        self._words.findings.warn(
            "chance", f"probabilities sum up to {float(total)!r}, and are scaled to 1", start
        )
        return tuple(share / total for share in shares)

    def _outcome(self) -> tuple[Fraction, ...] | None:
        """The payoffs at a node."""
        words = self._words
        start, number = words.next.start, words.integer("the number of the outcome")
        if words.is_next("text"):
            words.text("the label of the outcome")
        elif not words.is_next("mark", "{"):
            if number and number not in self._payoffs:
                words.fail("outcome", f"outcome {number} has no payoffs yet", start)
            return self._payoffs.get(number)
        words.mark("{", "`{` and the payoffs")
        found = words.payoffs(self._num_players)
        words.mark("}", "`}` after the payoffs")
        if number and self._payoffs.setdefault(number, found) != found:
            words.fail("outcome", f"outcome {number} had other payoffs before", start)
        return found
