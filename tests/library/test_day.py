"""A researcher's day: from rules to a chart in a few lines, as the page about the library says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.errors import ConfigError, MachineError, SolvingError
from ggp.report import Table
from tests.support.commands import json_of, run, text_file
from tests.support.games import REPOSITORY

PAGE = (REPOSITORY / "docs" / "use" / "library.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"```python\n(import ggp\n.*?)```", PAGE, re.DOTALL)
BACKENDS = ("propnet", "relational", "prolog")


def test_a_script_from_rules_to_chart_has_eight_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(SCRIPT.splitlines()) <= 8
    monkeypatch.chdir(tmp_path)
    assert run("new", "my_game.gdl").exit_code == 0
    exec(compile(SCRIPT, "script.py", "exec"), {})
    assert (tmp_path / "my_game.png").read_bytes().startswith(b"\x89PNG")
    assert "hyperplay2:n=2" in capsys.readouterr().out


class FakeFrame:
    """Stands for a frame of pandas, which need not be installed."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns


def test_frames_are_of_pandas_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", 1, 0.5), ("b", 2, None)]
    monkeypatch.setitem(sys.modules, "pandas", None)
    columns = Table(("name", "num", "value"), rows).frame()
    assert [column.dtype.kind for column in columns.values()] == ["O", "i", "f"]
    assert columns["num"].tolist() == [1, 2]
    assert np.isnan(columns["value"][1])
    fake = ModuleType("pandas")
    vars(fake)["DataFrame"] = FakeFrame
    monkeypatch.setitem(sys.modules, "pandas", fake)
    framed = Table(("name", "num", "value"), rows).frame()
    assert isinstance(framed, FakeFrame)
    assert list(framed.columns) == ["name", "num", "value"]
    assert list(Table(("name",), []).frame().columns) == ["name"]


def test_csv_quotes_what_it_must() -> None:
    assert Table(("a", "b"), [("x, y", None), ('"', 0.1)]).csv() == 'a,b\n"x, y",\n"""",0.1\n'


@pytest.mark.parametrize("backend", BACKENDS)
def test_states_are_made_of_fluents(backend: str) -> None:
    game = ggp.load("monty_hall", backend=backend)
    state = game.initial().play({"candidate": "(choose 1)"}, seed=1).state
    assert game.state(reversed(state.fluents)) == state
    over = game.state(["(round 4)", "(car 1)", "( chosen 1 )"])
    assert over.terminal
    assert over.goals["candidate"] == 100


def test_fluents_that_make_no_state_are_refused() -> None:
    game = ggp.load("monty_hall")
    with pytest.raises(ConfigError, match=r"no rule makes \(round 9\) hold"):
        game.state(["(round 9)"])
    with pytest.raises(ConfigError, match="is not a fluent"):
        game.state(["round 1"])
    if sys.modules.get("pyspiel", True) is not None:
        pytest.importorskip("pyspiel")
        with pytest.raises(MachineError, match="has no rules"):
            ggp.load("openspiel:kuhn_poker").state([])


@pytest.mark.verify
def test_a_tournament_is_given_by_values_or_a_file(tmp_path: Path) -> None:
    players = {"first": "legal", "dice": "random"}
    result = ggp.tournament(["kuhn_poker", "monty_hall"], players, rounds=2, seed=3)
    file = tmp_path / "t.toml"
    file.write_text(
        'games = ["kuhn_poker", "monty_hall"]\nrounds = 2\nseed = 3\n'
        '[players]\nfirst = "legal"\ndice = "random"\n'
    )
    assert ggp.tournament(file).to_json() == result.to_json()
    same = ggp.tournament(["kuhn_poker", "monty_hall"], players, matches=4, seed=3)
    assert same.to_json() == result.to_json()
    assert repr(result) == "<TournamentSummary of kuhn_poker, monty_hall: 8 of 8 matches>"
    assert set(result.frame()["game"]) == {"kuhn_poker", "monty_hall", "all games"}
    with pytest.raises(ConfigError, match="give a file that ends in"):
        result.plot("x.bmp")
    with pytest.raises(ConfigError, match="say who plays"):
        ggp.tournament(["kuhn_poker"])
    with pytest.raises(ConfigError, match="games must be a list"):
        ggp.tournament("kuhn_poker", players)
    for none in (
        lambda: ggp.tournament(["kuhn_poker"], players, rounds=0),
        lambda: ggp.compare("kuhn_poker", ["random", "legal"], rounds=-1),
        lambda: ggp.exploit("kuhn_poker", "legal", samples=0),
        lambda: ggp.exploit("kuhn_poker", "legal", answers=0),
    ):
        with pytest.raises(ConfigError, match="must be a whole number from 1"):
            none()


def test_a_solved_game_has_its_strategy_as_a_frame() -> None:
    solved = ggp.solve("kuhn_poker")
    assert (solved.method, round(solved.values["player2"], 3)) == ("sequence form LP", 51.389)
    frame = solved.frame()
    rows = list(zip(*(frame[name] for name in ("role", "history", "move")), strict=True))
    assert len(rows) == 24
    assert ("player2", "noop (dealt king) | noop bet", "call") in rows
    from ggp.solve import solve_tree  # the package of the same name

    assert solve_tree is ggp.solve.solve_tree  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="a seed must be"):
        ggp.solve("kuhn_poker", seed="x")  # type: ignore[arg-type]


SAME_NUMBER = """
(role even) (role odd) (init (round 1)) (after 1 2) (after 2 3) (after 3 4)
(<= (legal ?r (show ?n)) (role ?r) (number ?n))
(number 1) (number 2) (number 3) (number 4) (number 5) (number 6) (number 7) (number 8)
(<= (next (round ?j)) (true (round ?i)) (after ?i ?j))
(<= (next lost) (true lost))
(<= (next lost) (does even (show ?n)) (does odd (show ?m)) (distinct ?n ?m))
(<= terminal (true (round 4)))
(<= (goal even 100) (not (true lost))) (<= (goal even 0) (true lost))
(<= (goal odd 100) (true lost)) (<= (goal odd 0) (not (true lost)))
"""
"""Three times both show a number at once; one wins if all are the same."""


def test_the_library_solves_what_the_command_solves_and_in_the_same_way(tmp_path: Path) -> None:
    path = text_file(tmp_path, SAME_NUMBER)
    solved, report = ggp.solve(path, states=7), json_of("solve", path, "--states", "7")
    assert solved.method == report["method"] == "backward induction over matrices"
    assert report["values"] == pytest.approx(dict(solved.values), abs=1e-6)
    assert solved.values["even"] == pytest.approx(100 / 8**3)
    assert (solved.optimum.num_states, solved.optimum.information_sets) == (
        7,
        {"even": 5, "odd": 5},
    )
    assert report["states"] == 7
    assert report["information_sets"] == solved.optimum.information_sets
    assert "7 states" in solved._repr_html_()
    # Strategies are told by what roles did and saw, which is a matter of the tree.
    with pytest.raises(SolvingError, match="the tree of the game is too large"):
        next(solved.strategy())
    shares = [choice.probability for choice in ggp.solve(path).strategy() if choice.role == "even"]
    assert len(shares) % 8 == 0
    assert sum(shares) == pytest.approx(len(shares) / 8)


def test_records_are_read_from_files(tmp_path: Path) -> None:
    from match_runner.match.records import write_record

    record = ggp.play_match("monty_hall", {"candidate": "legal"}, seed=2)
    assert ggp.read_record(write_record(record, tmp_path)) == record
    with pytest.raises(ConfigError, match="cannot read"):
        ggp.read_record("nothing.json")
