"""Machine code of kernels outside `ggp.machine` belongs to the text of their own file."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

TEXT = """
from ggp.machine.jit import kernel

@kernel
def number(x: int) -> int:
    return x + {}
"""


def stamp_of(path: Path, added: int) -> Any:
    """What says which text the cached machine code of a kernel is of."""
    path.write_text(TEXT.format(added))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.number._cache._cache_file._source_stamp


def test_a_kernel_is_compiled_again_when_its_own_file_changes(tmp_path: Path) -> None:
    first = stamp_of(tmp_path / "one.py", 1)
    assert stamp_of(tmp_path / "same.py", 1) == first
    assert stamp_of(tmp_path / "other.py", 2) != first
