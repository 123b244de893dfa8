"""Which version some of our code is: a digest of its files, for caches of what the code makes.

What is cached is right for the code that made it. Nobody has to remember to raise a number: whoever
changes one of the files gets everything made anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def code_version(names: Iterable[str], *others: object) -> str:
    """A hex digest.

    Args:
        names: of modules of `ggp`, with slashes, and of folders all of whose modules count.
        others: what else makes a difference, such as versions of libraries.
    """
    digest = blake2b(repr(others).encode(), digest_size=16)
    for name in names:
        folder = _PACKAGE / name
        paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [_PACKAGE / f"{name}.py"]
        for path in paths:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
