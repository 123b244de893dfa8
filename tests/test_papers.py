"""`docs/measured/papers.md` says where everything of the papers is, and it is there."""

from __future__ import annotations

import importlib.util
import math
import re

import pytest

from ggp.cli import main
from ggp.labs.papers.reproduce.cli import EXPERIMENTS, GRIDS, PAPER_003
from ggp.players.spec import PLAYERS, describe_player
from match_runner.cli import main as runner
from tests.support.games import REPOSITORY

PAGE = (REPOSITORY / "docs" / "measured" / "papers.md").read_text()
VERDICTS = ("done", "agrees", "differs", "forecast", "left out", "answered")
NUMBER = re.compile(r"\d*\.?\d+")
PAPERS = ("000", "001", "002", "003", "004")


def rows(paper: str) -> list[list[str]]:
    """The rows about a paper: cells of its table."""
    section = re.split(rf"^## {paper}: .*$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


ROWS = [(paper, *row) for paper in PAPERS for row in rows(paper)]


def test_every_paper_has_a_table_of_five_columns() -> None:
    assert all(len(rows(paper)) >= 5 for paper in PAPERS)
    assert {len(row) for row in ROWS} == {6}


def test_every_row_has_a_verdict_and_what_is_there_a_place() -> None:
    for _, subject, module, _, _, verdict in ROWS:
        assert verdict.startswith(VERDICTS), subject
        if verdict.startswith(("done", "forecast")):
            assert module, subject


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:ggp|match_runner)\.[\w.]+)`", PAGE))))
def test_every_module_is_there(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


def test_every_test_that_works_something_out_is_there() -> None:
    tests = {path.name for path in (REPOSITORY / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+\.py)`", PAGE))
    assert len(named) > 3
    assert named <= tests


def test_leaves_of_the_card_game() -> None:
    open_cards = math.factorial(4) ** 2
    assert (open_cards, 12**4 * open_cards) == (576, 11_943_936)


def test_every_file_is_there() -> None:
    files = re.findall(r"`(games/\w+\.gdl)`", PAGE)
    assert files
    assert not [name for name in files if not (REPOSITORY / name).exists()]


def test_every_command_is_there() -> None:
    for tool, group in (("ggp", main), ("match-runner", runner)):
        names = set(re.findall(rf"`{tool} ([a-z]\w*)", PAGE))
        assert names <= set(group.list_commands(None))  # type: ignore[arg-type]
    assert set(re.findall(r"`reproduce ([\w-]+)`", PAGE)) <= {
        *EXPERIMENTS,
        *PAPER_003,
        *GRIDS,
    }


def test_every_experiment_and_every_player_of_a_paper_is_listed() -> None:
    for name in {*EXPERIMENTS, *PAPER_003} - {"larger"}:  # which is not in the paper
        assert f"`reproduce {name}`" in PAGE
    for name in PLAYERS:
        if re.search("Schofield|Long|Parker", describe_player(name).source):
            assert f"`{PLAYERS[name].__module__}`" in PAGE, name


@pytest.mark.parametrize("paper", ["003", "004"])
def test_our_numbers_are_those_of_the_pages_about_them(paper: str) -> None:
    names = "experiments", "openspiel", "paper-003", "properties", "strategy-fusion", "solving"
    pages = [path for name in names for path in (REPOSITORY / "docs").glob(f"*/{name}.md")]
    assert {path.stem for path in pages} == set(names)
    text = "\n".join(path.read_text() for path in pages)
    published = set(map(float, NUMBER.findall(text)))
    ours = {number for row in rows(paper) for number in NUMBER.findall(row[3])}
    assert len(ours) > 10
    assert not [number for number in ours if float(number) not in published]


def test_the_citation_has_the_version_and_the_papers() -> None:
    cited = (REPOSITORY / "CITATION.cff").read_text()
    project = (REPOSITORY / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.*)"$', project, re.MULTILINE)
    assert version is not None
    assert f"version: {version[1]}\n" in cited
    titles = re.findall(r"^\| 00\d \| .*?\*(.*?)\*", PAGE, re.MULTILINE)
    assert len(titles) == len(PAPERS)
    flat = " ".join(cited.split())
    assert all(title in flat for title in titles)
