"""`make verify` runs everything, and goes on where it stopped."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from ggp.errors import ConfigError
from tests.support.effort import LISTED
from tests.support.games import REPOSITORY


@pytest.fixture(scope="module")
def verify() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify", REPOSITORY / "scripts" / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verify"] = module
    spec.loader.exec_module(module)
    return module


def steps_file(folder: Path, **commands: str) -> Path:
    file = folder / "steps.toml"
    file.write_text(
        "\n".join(
            f'[[step]]\nname = "{name}"\ncommand = "{command}"\nminutes = 0.5\n'
            for name, command in commands.items()
        )
    )
    return file


def test_every_folder_of_tests_is_a_step(verify: ModuleType) -> None:
    names = {step.name for step in verify.read_steps(verify.STEPS)}
    holding = {file.parent for file in (REPOSITORY / "tests").rglob("test_*.py")}
    for folder in holding - {REPOSITORY / "tests"}:
        top = folder.relative_to(REPOSITORY).parts[:2]
        assert "/".join(top) in names
    assert "tests/the rest" in names


def test_every_test_is_run_by_one_step(verify: ModuleType) -> None:
    """Or, if it is judged by a clock, by the step of these."""
    every = {file.relative_to(REPOSITORY) for file in (REPOSITORY / "tests").rglob("test_*.py")}
    steps = [step for step in verify.read_steps(verify.STEPS) if step.name.startswith("tests/")]
    run: list[Path] = []
    for step in steps:
        assert step.command.startswith("GGP_THOROUGH=1 {python} -m pytest -m 'not timed' ")
        options, _, place = step.command.rpartition(" ")
        assert not {"-k", "--deselect", "--ignore"} & {*options.split()}
        files = {path.relative_to(REPOSITORY) for path in REPOSITORY.glob(place)}
        run += [file for file in every if file in files or files & {*file.parents}]
    assert sorted(run) == sorted(every)


def test_a_run_goes_on_with_what_has_not_passed(
    verify: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, log = tmp_path / "out", tmp_path / "said"
    flag = tmp_path / "mended"
    file = steps_file(tmp_path, good=f"echo good >> {log}", bad=f"test -e {flag}")
    monkeypatch.setattr(verify, "version_of", lambda folder: "one")

    def run(*options: str) -> Result:
        return CliRunner().invoke(verify.main, [str(file), "--out", str(out), *options])

    first = run()
    assert first.exit_code == 1
    assert "2 of 2 steps to run, about 1 minutes" in first.stderr
    assert f"bad failed; see {out / 'bad.log'}" in first.stderr
    flag.touch()
    second = run()
    assert second.exit_code == 0
    assert "1 of 2 steps to run" in second.stderr
    assert log.read_text() == "good\n"
    assert run().exit_code == 0
    assert log.read_text() == "good\n"
    monkeypatch.setattr(verify, "version_of", lambda folder: "two")
    assert run("--only", "good").exit_code == 0
    assert log.read_text() == "good\n" * 2
    assert run("--again").exit_code == 0
    assert log.read_text() == "good\n" * 3


def test_wrong_steps_are_told(verify: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a list of steps"):
        verify.read_steps(tmp_path / "none.toml")
    (tmp_path / "other.toml").write_text("[[step]]\nname = 'a'\n")
    with pytest.raises(ConfigError, match="is not a list of steps"):
        verify.read_steps(tmp_path / "other.toml")


def test_the_version_changes_with_a_file_of_the_project(verify: ModuleType, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("ignored\n")
    version = verify.version_of(tmp_path)
    (tmp_path / "ignored").write_text("x")
    assert verify.version_of(tmp_path) == version
    (tmp_path / "new").write_text("x")
    assert verify.version_of(tmp_path) != version


def test_every_case_listed_as_long_exists() -> None:
    for listed in LISTED:
        file, *_, name = listed.partition("[")[0].split("::")
        assert f"def {name}(" in (REPOSITORY / file).read_text(), listed
