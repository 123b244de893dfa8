"""Versions of parts of our code: digests of files, for caches of what the code makes.

A cached result is right for the code that made it. Nobody has to remember to raise a number: after
a change of one of the files, everything is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def code_version(names: Iterable[str], *others: object) -> str:
    """A hex digest of the sources of some modules.

    Args:
        names: names of modules of `ggp`, with slashes, and of folders all of whose modules count.
        others: other things that make a difference, such as versions of libraries.
    """
    digest = blake2b(repr(others).encode(), digest_size=16)
    for name in names:
        folder = _PACKAGE / name
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [_PACKAGE / f"{name}.py"]
        for path in paths:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
