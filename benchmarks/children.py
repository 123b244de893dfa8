"""Processes that measure, so that nothing was loaded or cached before; others that only compute.

A child runs the `main` of a module of `benchmarks.apart` and prints JSON, a line for each answer.
`benchmarks` comes from here, and `ggp` from the version of the project that is measured.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

HOME = Path(__file__).resolve().parents[1]
"""The folder of this version of the project."""

_CHILD = """
import importlib, sys
home, version, module, *rest = sys.argv[1:]
sys.path.insert(0, home)
import benchmarks
sys.path[0] = version
importlib.import_module(module).main(*rest)
"""


def command_of(
    module: str, *arguments: str, version: Path = HOME, python: str = sys.executable
) -> list[str]:
    """The command of a child."""
    return [python, "-c", _CHILD, str(HOME), str(version), module, *arguments]


class Child:
    """A child that measures on demand: it says when it is ready, and then answers each line.

    Args:
        module: has a `main`, which takes the `arguments`.
        version: folder of the version of the project.
        python: its interpreter.
    """

    def __init__(
        self, module: str, *arguments: str, version: Path = HOME, python: str = sys.executable
    ) -> None:
        self._process = subprocess.Popen(
            command_of(module, *arguments, version=version, python=python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=version,
        )
        self.answer()

    def ask(self, line: str) -> None:
        """Have it measure."""
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def answer(self) -> Any:
        """The result, when there is one."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise click.ClickException("the process that measures ended, see above")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing but compute run meanwhile."""
    running = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for process in running:
        process.start()
    try:
        yield
    finally:
        for process in running:
            process.terminate()


def _spin() -> None:
    while True:
        pass
