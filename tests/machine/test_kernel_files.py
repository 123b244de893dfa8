"""Machine code and circuits that are stored belong to the files they were made of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ggp.machine.compiling import disk_cache, kernel_version
from tests.support.code_read import Name, decorated, module_of, names_read, tree_of
from tests.support.games import REPOSITORY

PACKAGE = REPOSITORY / "ggp"

KERNEL_MAKERS = {"kernel", "inlined", "by_reference"}

COMPILERS = {
    "ggp.machine.compiling.jit",
    "ggp.machine.compiling.kernel_compiler",
    "ggp.machine.compiling.vector_code",
}
"""What compiles kernels: no kernel names it."""

FINDERS = {"ggp.machine.compiling.kernel_files"}
"""These only find machine code that was compiled before."""

ONLY_LIMITS = {
    "ggp.errors",
    "ggp.machine.base",
    "ggp.machine.propnet.compile.circuits",
    "ggp.run.calls",
    "ggp.run.messages",
    "ggp.run.processes",
}
"""Makers of circuits use these only to fail, and to report their progress."""

ONLY_COMPILE = (
    COMPILERS
    | FINDERS
    | {
        "ggp.libraries",
        "ggp.machine.compiling.kernel_version",
    }
)
"""These only compile the kernels of circuit makers; other files decide the values."""


def modules_with(*words: str) -> list[str]:
    """Our modules in whose text there is one of some words."""
    return [
        module_of(path)
        for path in PACKAGE.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    ]


def nodes_of(module: str) -> Iterator[ast.AST]:
    tree = tree_of(module)
    assert tree is not None
    return ast.walk(tree)


def modules_of(names: Iterable[Name]) -> set[str]:
    return {name.module for name in names}


def tells_numba(module: str) -> bool:
    """Whether a module takes something of numba or LLVM."""
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] in ("numba", "llvmlite")
        for node in nodes_of(module)
    )


def test_the_version_of_kernels_is_that_of_the_files_they_read() -> None:
    modules = modules_with("ggp.machine.compiling.jit")
    kernels = [kernel for module in modules for kernel in decorated(module, KERNEL_MAKERS)]
    assert len(kernels) > 100
    counted = {module_of(PACKAGE / f"{name}.py") for name in kernel_version.FILES}
    assert counted == modules_of(names_read(kernels, by_kernels=True)) | COMPILERS


def test_every_module_that_compiles_is_known() -> None:
    modules = {module for module in modules_with("numba", "llvmlite") if tells_numba(module)}
    assert modules
    assert modules <= COMPILERS | FINDERS


def test_kernels_are_made_by_decorators_only() -> None:
    """For those are found."""
    for module in modules_with("ggp.machine.compiling.jit"):
        for node in nodes_of(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in KERNEL_MAKERS, module


def test_the_version_of_circuits_is_that_of_the_files_that_make_them() -> None:
    read = modules_of(names_read([Name("ggp.machine.propnet.compile.circuits", "make")]))
    files = {module_of(PACKAGE / f"{name}.py") for name in disk_cache.FILES}
    folders = {
        module_of(path)
        for folder in disk_cache.FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
    }
    assert files <= read
    assert read <= files | folders | ONLY_LIMITS | ONLY_COMPILE
