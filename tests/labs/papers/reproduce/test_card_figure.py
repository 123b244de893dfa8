"""`match-runner reproduce 003-figure6`: Skat and Hearts."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest
from matplotlib.image import imread

from ggp.labs.papers.reproduce import cli
from ggp.labs.papers.reproduce.paper_003 import figure6, trees
from ggp.labs.papers.reproduce.paper_003.figure6 import (
    GRAND,
    HEARTS,
    KINDS,
    NULL,
    SUIT,
    CardFigure,
    DealProperties,
    Deals,
    draw_deal,
    measure_deals,
    num_worlds,
    pre_terminal_ends,
    shares_left,
)
from ggp.labs.papers.reproduce.report import draw
from match_runner.workers.executor import InlineExecutor
from tests.labs.papers.reproduce.test_reproduce_trees import settings, stub


def by_trying(sizes: tuple[int, ...], suits: tuple[tuple[int, tuple[bool, ...]], ...]) -> int:
    """Ways to hold cards, by looking at all of them."""
    cards = [may for number, may in suits for _ in range(number)]
    return sum(
        all(may[owner] for owner, may in zip(owners, cards, strict=True))
        and all(owners.count(player) == number for player, number in enumerate(sizes))
        for owners in itertools.product(range(len(sizes)), repeat=len(cards))
    )


@pytest.mark.parametrize(
    ("sizes", "suits"),
    [
        ((3, 3), ((4, (True, True)), (2, (True, True)))),
        ((3, 3), ((4, (True, True)), (2, (False, True)))),
        ((2, 1), ((2, (True, False)), (1, (False, True)))),
        ((2, 2, 2), ((3, (True, True, False)), (3, (True, False, True)))),
        ((0, 0), ((0, (True, True)),)),
    ],
)
def test_worlds_are_counted_as_by_trying_all(sizes: Any, suits: Any) -> None:
    assert num_worlds(sizes, suits) == by_trying(sizes, suits)


def test_fewer_worlds_remain_in_hearts_than_in_skat_whatever_the_reading() -> None:
    """All suits possible for all: two or three opponents show a card each."""

    def shares(opponents: int, cards: int) -> list[float]:
        may = (True,) * opponents
        worlds = [
            num_worlds((left,) * opponents, ((opponents * left, may),))
            for left in range(cards, 0, -1)
        ]
        return [after / before for before, after in itertools.pairwise(worlds)]

    skat, hearts = shares(2, 10), shares(3, 13)
    assert skat[0] == pytest.approx(10 * 10 / (20 * 19))
    assert hearts[0] == pytest.approx(13**3 / (39 * 38 * 37))
    assert (round(skat[0], 2), round(skat[-1], 2)) == (0.26, 0.33)
    assert (round(hearts[0], 2), round(hearts[-1], 2)) == (0.04, 0.07)
    assert max(hearts) < min(skat)


@pytest.mark.parametrize("kind", KINDS)
def test_a_deal_begins_with_card_play_and_all_hands_full(kind: str) -> None:
    deal = draw_deal(kind, Random(1))
    rest = deal.state.clone()
    by_player: dict[int, set[int]] = {}
    while not rest.is_terminal():
        action = rest.legal_actions()[0]
        by_player.setdefault(rest.current_player(), set()).add(action)
        rest.apply_action(action)
    assert len(deal.hand) == (13 if kind == HEARTS else 10)
    assert by_player.get(deal.player, set()) <= deal.hand
    hidden = deal.num_cards - len(deal.hand) - len(deal.discards)
    assert sum(deal.hand_sizes.values()) == hidden


def test_soloists_have_hands_that_people_would_bid_on() -> None:
    rng = Random(5)
    for _ in range(5):
        suit = draw_deal(SUIT, rng)
        assert sum(suit.suit_of(card) == 4 for card in suit.hand) >= 6
        grand = draw_deal(GRAND, rng)
        assert sum(card % 8 in (6, 7) for card in grand.hand) >= 5
        null = draw_deal(NULL, rng)
        assert sum(card % 8 == 6 for card in null.hand) <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_walks_end_where_every_move_ends_the_game(kind: str) -> None:
    rng = Random(2)
    deal = draw_deal(kind, rng)
    ends = pre_terminal_ends(deal.state, rng)
    assert len(ends) > 1
    assert all(end.is_terminal() for end in ends)
    assert not deal.state.is_terminal()


@pytest.mark.parametrize("kind", [SUIT, HEARTS])
def test_worlds_never_grow_and_the_true_one_is_among_them(kind: str) -> None:
    shares = list(shares_left(draw_deal(kind, Random(4)), Random(4)))
    assert len(shares) == (12 if kind == HEARTS else 9)
    assert all(0 < share <= 1 for share in shares)


def test_deals_do_not_depend_on_how_they_are_grouped() -> None:
    batch = measure_deals(Deals(SUIT, 0, 2, seed=3))
    assert measure_deals(Deals(SUIT, 1, 1, seed=3)) == batch[1:]
    assert measure_deals(Deals(SUIT, 1, 1, seed=4)) != batch[1:]


def fixed_properties(deals: Deals) -> list[DealProperties]:
    """As the paper's, but for Hearts."""
    factor = 0.85 if deals.kind == HEARTS else 0.61
    return [DealProperties(0.95, 0.7, factor)] * deals.count


def test_densities_stand_above_what_pimc_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure6, "measure_deals", fixed_properties)
    monkeypatch.setattr(trees, "measure", stub)
    steps: list[int] = []
    run_settings = settings(tmp_path, 20)
    result = CardFigure().run(run_settings, InlineExecutor(), lambda: steps.append(1))
    assert len(steps) == CardFigure().size(run_settings)
    assert [panel.title for panel in result.panels] == [*KINDS, *["bias 0.75"] * 4]
    density = result.panels[0]
    (place,) = [
        (x, y)
        for y, line in zip(density.ys, density.values, strict=True)
        for x, value in zip(density.xs, line, strict=True)
        if value == 1
    ]
    assert place == (0.95, 0.6)
    verdicts = {claim.text: claim.agrees for claim in result.claims}
    assert verdicts["Hearts: disambiguation"] is False
    assert verdicts["Skat: suit: disambiguation"] is True
    assert {point.count for point in result.points} == {60}
    draw(result, tmp_path / "figure.png")
    assert imread(tmp_path / "figure.png").std() > 0.05


def test_groups_leave_it_out_without_openspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert "003-figure6" not in [experiment.name for experiment in cli.experiments_of("003")]
    assert [experiment.name for experiment in cli.experiments_of("003-figure6")] == ["003-figure6"]
