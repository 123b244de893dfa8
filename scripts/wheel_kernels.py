"""Puts machine code of kernels into the wheel, if the environment says HATCH_BUILD_HOOKS_ENABLE=1.

Such a wheel is for one version of Python on Linux with x86-64, and as new a system as numba's own
wheel. Its code is used with the numba and llvmlite that it was made with; with others, kernels are
compiled as they are from the pure wheel, which is built everywhere else. To compile for three
levels of the processor takes some minutes, so nothing but a release asks for it. What is compiled
is kept in `build` for the next time.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILER = "scripts/compile_kernels.py"


class KernelsHook(BuildHookInterface[Any]):
    """What hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the wheel for the systems that the code is for."""
        here = sys.platform, platform.machine(), sys.implementation.name
        if version == "editable" or here != ("linux", "x86_64", "cpython"):
            return
        sys.path.insert(0, self.root)
        from ggp.machine.compiling.kernel_files import LEVELS

        code = Path(self.root, "build", f"kernels-{sys.implementation.cache_tag}")
        subprocess.run([sys.executable, COMPILER, str(code), *LEVELS], cwd=self.root, check=True)
        for level in LEVELS:
            build_data["force_include"][str(code / level)] = f"ggp/_kernels/{level}"
        build_data["pure_python"] = False
        build_data["tag"] = _numba_tag()


def _numba_tag() -> str:
    """The tag of numba's wheel, without which the code is of no use."""
    text = distribution("numba").read_text("WHEEL") or ""
    tags = [line.removeprefix("Tag: ") for line in text.splitlines() if line.startswith("Tag: ")]
    if not tags:
        raise RuntimeError("the installed numba does not say which systems its wheel is for")
    return min(tags, key=len)
