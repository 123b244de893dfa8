"""A rule language of its own needs a frontend, and nothing else: its games are games like others.

`tests.support.sheets.toy_frontend` is one, on a machine that owes nothing to rules of GDL.
"""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import ggp
from ggp.errors import ConfigError
from ggp.machine.games import build_machine, load_program
from ggp.solve import solve
from match_runner.cli import main
from match_runner.match.records import check_record, rules_of
from match_runner.table.options import Offers
from match_runner.table.worker_tasks import read_rules, replay

GAME = "toy:7"
SEARCHES = (
    "hyperplay:n=2",
    "pimc:worlds=4",
    "mcts:trials=50",
    "ismcts:trials=50",
    "resolve:trials=50",
)


pytestmark = pytest.mark.usefixtures("stranger")


@pytest.mark.parametrize("player", SEARCHES)
def test_it_is_played_and_its_record_played_again(player: str) -> None:
    record = ggp.play_match(GAME, {"seeker": player}, seed=3)
    assert (record.game, record.rules, record.backend, record.errors) == (GAME, GAME, "toy", ())
    assert len(check_record(record, rules_of(record))) == len(record.turns) + 1


def test_beliefs_hold_the_hidden_places_with_equal_probability() -> None:
    belief = ggp.load(GAME).belief("seeker", [("noop", ()), ("(pick 4)", ("high",))])
    assert belief.exact
    probabilities = {
        fluent: belief.probability(fluent) for fluent in belief.fluents if "hidden" in fluent
    }
    assert probabilities == pytest.approx({f"(hidden {place})": 1 / 3 for place in (1, 2, 3)})


def test_it_is_searched() -> None:
    """Picking the middle one of three separates the others, which is worth 33.3, not 25."""
    player = ggp.load(GAME).player("seeker", "hyperplay2:n=6", seed=1)
    player.observe("noop", ())
    player.observe("(pick 4)", ("high",))
    assert player.choose().move == "(pick 2)"


def test_it_is_solved() -> None:
    """The middle first, then the middle of the rest: 1, 2 and 4 of seven in so many picks."""
    solution = solve(build_machine(load_program(GAME)))
    assert solution.profile.values["seeker"] == pytest.approx((75 + 2 * 50 + 4 * 25) / 7)


def test_it_is_shown_at_the_table() -> None:
    text, rules_text = Offers(game=GAME).rules_of(GAME, None)
    sheet = read_rules(GAME, text)
    assert (sheet["ok"], sheet["roles"], sheet["title"]) == (True, ["seeker"], "Seek")
    record = ggp.play_match(GAME, {"seeker": "random"}, seed=1)
    frames = replay(record, rules_text)
    assert len(frames) == len(record.turns) + 1
    facts = [[fact["text"] for fact in frame["state"]["facts"]] for frame in frames]
    assert facts[0] == ["(hidden 0)", "(picked 0)", "(turn 0)"]
    assert facts[1][1:] == ["(picked 0)", "(turn 1)"]


def test_a_person_plays_it_in_the_terminal() -> None:
    typed = "rules\n\n(pick 4)\n1\n1\n"
    result = CliRunner().invoke(main, ["play", GAME, "--player", "seeker=human"], input=typed)
    assert result.exit_code == 0, result.output
    assert "Find what chance has hidden." in result.output
    assert "These facts hold in all 7 possible states:" in result.output
    assert "In turn 2 you played (pick 4) and saw low." in result.output


def test_backends_of_other_games_do_not_play_it() -> None:
    with pytest.raises(ConfigError, match="toy:7 has no rules to read; leave out --backend"):
        build_machine(load_program(GAME), "prolog")
