"""A short season with controllers that do not forgive; `make endurance` plays a long one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.controllers.controller import End, Kind, Plan, Renaming, Sheet
from tests.controllers.season import faults_of, season, served, sheets
from tests.support.effort import rarely

CLOCKS = (10, 2)


@pytest.mark.verify
@pytest.mark.parametrize("share", rarely([0, 1], {1}))
def test_matches_of_every_kind_of_controller_have_no_faults(share: int) -> None:
    games = {sheet.name: sheet for sheet in sheets()}
    planned = [
        plan(games["spy_vs_spy"], "spy1", Kind.DRESDEN_2013, Renaming.SEES_TOO, End.KILLED),
        plan(games["kuhn_poker"], "player1", Kind.DRESDEN_2011, Renaming.SEES_TOO, End.STOP),
        plan(games["tic_tac_toe"], "xplayer", Kind.GGP_BASE, Renaming.NONE, End.LOST),
        plan(games["tic_tac_toe"], "oplayer", Kind.DRESDEN_2011, Renaming.NAMES, End.STOP),
        plan(games["monty_hall"], "candidate", Kind.DRESDEN_2013, Renaming.NAMES, End.STOP),
        plan(games["exploding_bomb"], "agent", Kind.DRESDEN_2011, Renaming.SEES_TOO, End.STOP),
    ]
    planned = [replace(plan, match=f"m{i}", seed=i) for i, plan in enumerate(planned)][share::2]
    with served("--player", "random", "--matches", "2") as server:
        results = season(planned, server.port)
    assert not faults_of(results), [line for result in results for line in result.said]
    assert all(result.moves > 1 for result in results)
    assert all(result.goal is not None for result in results if result.plan.end is not End.KILLED)


def plan(sheet: Sheet, role: str, kind: Kind, renaming: Renaming, end: End) -> Plan:
    """A match with short clocks."""
    return Plan("", sheet, role, kind, renaming, end, CLOCKS)
