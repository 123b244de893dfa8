"""The children of processes and their memory, according to Linux."""

from __future__ import annotations

import contextlib
from pathlib import Path


def started_by(pid: int) -> list[int]:
    """Process ids of the children of a process; none if unknown."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):  # it ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                pids.append(int(path.parent.name))
    return pids


def entry_of(pid: int) -> str:
    """The entry that a child calls, see `processes.command`; empty if it has none, or unknown."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return words[3] if "import run_entry" in "".join(words[2:3]) else ""


def resident_kb(pid: int) -> int | None:
    """Resident memory of a process; None if it is gone, or unknown."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return None
