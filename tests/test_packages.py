"""Built packages hold every module and all data of the checkout, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.support.games import REPOSITORY

PACKAGES = ("ggp/", "match_runner/")

IN_THE_WHEEL = {"games/": "ggp/_games/"}
"""Folders that have another name there."""

OURS_ALONE = (
    ".ci/",
    ".dockerignore",
    ".editorconfig",
    ".github/",
    ".gitignore",
    ".pre-commit-config.yaml",
    "Dockerfile",
    "findings/",
)
"""What only those need who work on a checkout."""

Contents = Mapping[str, bytes]


def checked_out() -> Contents:
    """All files that are or may be under version control."""
    git = shutil.which("git") or "false"
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    names = [name for name in listed.stdout.split("\0") if (REPOSITORY / name).is_file()]
    if "pyproject.toml" not in names:
        pytest.skip("this is no checkout")
    return {name: (REPOSITORY / name).read_bytes() for name in names}


def wheel_of(root: Path, to: Path) -> Path:
    (wheel,) = WheelBuilder(str(root)).build(directory=str(to), versions=["standard"])
    return Path(wheel)


def contents_of_wheel(path: Path) -> Contents:
    """Without what says where it comes from."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    return contents_of_wheel(wheel_of(REPOSITORY, tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the sdist, below a folder in which nearly everything is ignored."""
    folder = tmp_path_factory.mktemp("sdist")
    (sdist,) = SdistBuilder(str(REPOSITORY)).build(directory=str(folder), versions=["standard"])
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (folder / ".gitignore").write_text("build/\n*.gdl\n*.js\n")
    return Path(str(sdist).removesuffix(".tar.gz"))


def test_the_wheel_holds_the_packages_and_the_games(wheel: Contents) -> None:
    expected = {}
    for name, data in checked_out().items():
        for source, target in ({package: package for package in PACKAGES} | IN_THE_WHEEL).items():
            if name.startswith(source):
                expected[target + name.removeprefix(source)] = data
    assert "ggp/machine/propnet/compile/circuits.py" in expected
    assert "ggp/_games/monty_hall.gdl" in expected
    assert set(wheel) == set(expected)
    assert wheel == expected


@pytest.mark.verify
def test_the_sdist_holds_all_but_what_only_a_checkout_needs(unpacked: Path) -> None:
    files = {
        path.relative_to(unpacked).as_posix(): path.read_bytes()
        for path in unpacked.rglob("*")
        if path.is_file()
    }
    builder_files = {"PKG-INFO", ".gitignore"}  # the builder's own choice
    expected = {
        name: data for name, data in checked_out().items() if not name.startswith(OURS_ALONE)
    }
    assert set(files) - builder_files == set(expected)
    assert all(files[name] == data for name, data in expected.items())


@pytest.mark.verify
def test_the_sdist_makes_the_same_wheel_wherever_it_is_unpacked(
    wheel: Contents, unpacked: Path, tmp_path: Path
) -> None:
    assert contents_of_wheel(wheel_of(unpacked, tmp_path)) == wheel
