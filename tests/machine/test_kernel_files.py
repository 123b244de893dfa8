"""Machine code that is cached belongs to the files it was compiled from."""

from __future__ import annotations

import ast
from pathlib import Path

from ggp.machine import kernel_version
from tests.support.games import REPOSITORY

KERNEL_MAKERS = {"kernel", "inlined"}


def makes_kernels(path: Path) -> bool:
    """Whether a module imports what makes kernels, or parts of them."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "ggp.machine.jit"
        and KERNEL_MAKERS & {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_every_file_with_kernels_is_known() -> None:
    folder = Path(kernel_version.__file__).parent
    known = {(folder / f"{name}.py").resolve() for name in kernel_version.FILES}
    found = {path for path in (REPOSITORY / "ggp").rglob("*.py") if makes_kernels(path)}
    assert found
    assert found <= known
