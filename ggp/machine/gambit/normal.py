"""Reads `.nfg`: all players choose a strategy at once, and each profile has payoffs or an outcome.

    NFG 1 R "prisoner's dilemma" { "row" "column" } { { "stay" "tell" } { "stay" "tell" } }
    -1 -1  0 -3  -3 0  -2 -2

Strategies may be given as numbers of them. Profiles come in the order in which the strategy of the
first player changes fastest. In place of payoffs there may be a list of outcomes, each with its
payoffs, and the number of one for each profile, where 0 is one that pays nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ggp.machine.gambit.tree import GambitTree, InformationSet, TreeNode
from ggp.machine.gambit.words import GambitText

_MOST_PROFILES = 1_000_000
"""Greatest number of profiles, of which a file has to list all."""


def read_normal(words: GambitText) -> GambitTree:
    """The game in a file.

    Raises:
        GDLSyntaxError: the file is not of this format.
    """
    title, players = words.begin("NFG", "1")
    start = words.next.start
    strategies = _strategies(words, len(players))
    counts = [len(each) for each in strategies]
    if not all(counts) or math.prod(counts) > _MOST_PROFILES:
        message = f"there must be 1 to {_MOST_PROFILES:,} profiles, not {math.prod(counts):,}"
        words.fail("strategies", message, start)
    comment = words.comment()
    sets = [
        InformationSet(player, 1, "", tuple(actions), (), start)
        for player, actions in enumerate(strategies)
    ]
    nodes = [TreeNode(tuple(range(len(players))), -1, 0, None, start)]
    # In the file the first player's strategy changes fastest, in branches the last one's.
    branches = np.arange(math.prod(counts)).reshape(counts).transpose().ravel().tolist()
    outcomes = _outcomes(words, len(players)) if words.is_next("mark", "{") else None
    for branch in branches:
        start = words.next.start
        if outcomes is None:
            payoffs = words.payoffs(len(players))
        else:
            number = words.integer("the number of the outcome of a profile")
            if number >= len(outcomes):
                words.fail("outcome", f"there is no outcome number {number}", start)
            payoffs = outcomes[number]
        nodes.append(TreeNode((), 0, branch, payoffs, start))
    if not words.is_next("end"):
        words.fail("strategies", f"all {len(branches):,} profiles are read, but more follows here")
    return GambitTree(title, comment, tuple(players), tuple(sets), tuple(nodes))


def _strategies(words: GambitText, num_players: int) -> list[list[str]]:
    """The labels of each player's strategies."""
    start = words.next.start
    words.mark("{", "`{` and the strategies")
    found = []
    while not words.is_next("mark", "}"):
        if words.is_next("mark", "{"):
            found.append(words.texts("the labels of a player's strategies, in quotes,"))
        else:
            count = words.integer("the number of a player's strategies")
            if count > _MOST_PROFILES:
                words.fail("strategies", f"there are more than {_MOST_PROFILES:,} strategies")
            found.append([str(number) for number in range(1, count + 1)])
    words.mark("}", "`}` after the strategies")
    if len(found) != num_players:
        message = f"there are strategies of {len(found)} players, but {num_players} players"
        words.fail("strategies", message, start)
    return found


def _outcomes(words: GambitText, num_players: int) -> list[tuple[Fraction, ...]]:
    """The payoffs of each outcome; the first one, number 0, pays nothing."""
    found = [(Fraction(0),) * num_players]
    words.mark("{", "`{` and the outcomes")
    while words.is_next("mark", "{"):
        words.mark("{", "an outcome")
        words.text("the label of the outcome, in quotes,")
        found.append(words.payoffs(num_players))
        words.mark("}", "`}` after the payoffs")
    words.mark("}", "`}` or the next outcome")
    return found
