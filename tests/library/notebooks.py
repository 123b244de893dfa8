"""Notebooks run cell by cell in this process, as a kernel would, without one.

`python -m tests.library.notebooks` runs those in `examples/` and stores what their cells show.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from tests.support.games import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "examples").glob("*.ipynb"))


def run_cells(path: Path) -> list[tuple[dict[str, Any], str]]:
    """Every code cell of a notebook with its output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            outputs.append((cell, _run("".join(cell["source"]), names)))
    return outputs


def shown_by(cell: dict[str, Any]) -> str:
    """The text that is stored as the output of a cell."""
    parts = []
    for output in cell["outputs"]:
        lines = output["text"] if "text" in output else output["data"]["text/plain"]
        parts.append("".join(lines))
    return "".join(parts)


def _run(source: str, names: dict[str, Any]) -> str:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(repr(value), end="")
    return printed.getvalue()


def main() -> None:
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        cells = iter(run_cells(path))
        for number, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
            text = next(cells)[1]
            cell["execution_count"] = number + 1
            cell["outputs"] = [
                {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            ] * bool(text)
        path.write_text(json.dumps(notebook, indent=1) + "\n")


if __name__ == "__main__":
    main()
