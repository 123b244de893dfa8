"""What installed packages offer is found by its name, and the core does without all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ggp import registry
from ggp.errors import ConfigError
from ggp.players import BeliefPlayer, Player, make_player, parse_spec
from tests.support.commands import error_line, run
from tests.support.games import REPOSITORY, machine_of_game
from tests.support.imports import module_of
from tests.support.packages import offer
from tests.test_layers import ADDRESSES, MODULES


def player(spec: str, seed: int = 1) -> Player:
    machine = machine_of_game("kuhn_poker", "propnet")
    learner = make_player(parse_spec(spec), machine, 0, np.random.default_rng(seed))
    learner.observe("noop", ["(dealt queen)"])
    return learner


@pytest.mark.usefixtures("stranger")
def test_extensions_of_an_installed_package_work(tmp_path: Path) -> None:
    thinker = player("hyperplay:n=4,sampler=lone")
    thinker.choose()
    assert isinstance(thinker, BeliefPlayer)
    assert len(thinker.tracker.bag.sets.states) == 1
    with pytest.raises(ConfigError, match="sampler=hs or sampler=lone"):
        parse_spec("hyperplay:sampler=other")
    assert player("hyperplay:n=2,model=bold:7").choose().values
    with pytest.raises(ConfigError, match="must be bold:7"):
        parse_spec("hyperplay:model=bold:8")
    (tmp_path / "value.num").write_text("70")
    decision = player(f"over:depth=1,evaluation={tmp_path / 'value.num'}").choose()
    assert 70.0 in {value.value for value in decision.values}
    assert run("greet", "chess").stdout == "hello chess\n"
    assert "Say hello to a game." in run("--help").stdout
    assert "kuhn_poker" in run("games").stdout  # ours cannot be replaced


def test_an_import_that_fails_is_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("import no_such_library")
    offer(tmp_path, monkeypatch, "ggp.samplers", broken="broken:Sampler")
    with pytest.raises(ConfigError, match="the sampler broken of the package stranger cannot"):
        player("hyperplay:sampler=broken")


@pytest.fixture
def _without_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core, without labs or packages."""
    monkeypatch.setattr(registry, "offered", lambda group: {})


@pytest.mark.usefixtures("_without_labs")
def test_the_core_plays_without_labs_and_says_what_it_lacks(tmp_path: Path) -> None:
    for spec in ("hyperplay:n=2", "hyperplay2:n=2", "mcts:trials=10", "auto", "pimc:worlds=4"):
        assert player(spec).choose().move
    for spec, message in {
        "over": "unknown player 'over'",
        "hyperplay:sampler=hs": "must be sampler=hyperplay or sampler=los",
    }.items():
        with pytest.raises(ConfigError, match=message):
            parse_spec(spec)
    with pytest.raises(ConfigError, match="lab of learning, which is not installed"):
        player("mcts:learn=50")
    exploit = ("exploit", "kuhn_poker", "--player", "random", "--approximate")
    assert "lab of learning, which is not installed" in error_line(*exploit)


def test_no_module_of_the_core_imports_a_lab() -> None:
    """Nor by a name in a string, or one that is put together."""
    names = {module_of(path) for path in MODULES} - ADDRESSES.keys()
    core = sorted(n for n in names if not n.startswith("ggp.labs") and "__main__" not in n)
    code = f"""
import importlib, sys
for name in {core!r}:
    importlib.import_module(name)
print(sorted(name for name in sys.modules if name.startswith("ggp.labs")))
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert process.stdout.strip() == "[]"
