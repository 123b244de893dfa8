"""`ggp learn --seeds`: several runs, of which the one that gives least away is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ggp.cli.solving import telling
from ggp.console import print_json, print_rich, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggp.library.learnt_seeds import LearntSeed, Task

DIGITS = 4


def learn_several(
    tasks: Sequence[Task], path: Path, jobs: int | None, scheduler: str | None, *, as_json: bool
) -> None:
    """Learn, show how each seed did, and write the best."""
    from ggp.library.learnt_seeds import learn_seeds
    from ggp.whole_files import write_whole

    come = 0
    with telling(f"learning from {len(tasks)} seeds") as tell:

        def progress(found: LearntSeed) -> None:
            nonlocal come
            come += 1
            tell(f"{come} of {len(tasks)}; seed {found.seed} gives {found.given_away:.2f} away")

        found = learn_seeds(tasks, jobs=jobs, scheduler=scheduler, progress=progress)
    best = found[0]
    write_whole(path, best.file)
    if as_json:
        print_json({"file": str(path), "seed": best.seed, "runs": [_json(each) for each in found]})
        return
    rows = [
        (
            str(each.seed),
            f"{each.given_away:.2f}",
            "exact" if each.is_exact else "learnt",
            f"{each.updates:,}",
            f"{each.decisions:,}",
            f"{each.seconds:.1f}",
        )
        for each in found
    ]
    columns = ("#seed", "#others gain", "how known", "#updates", "#decisions", "#seconds")
    print_rich(table_of(columns, rows))
    click.echo(f"seed {best.seed} is written to {path}; play it with learned:policy={path}")


def _json(found: LearntSeed) -> dict[str, float | bool]:
    return {
        "seed": found.seed,
        "given_away": round(found.given_away, DIGITS),
        "exact": found.is_exact,
        "updates": found.updates,
        "decisions": found.decisions,
        "seconds": round(found.seconds, 3),
    }
