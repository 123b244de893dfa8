"""`ggp policies`: the files of policies in a folder, and how they were learnt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import json_option, verbose_option
from ggp.console import example, print_json, print_rich, table_of
from ggp.errors import ConfigError
from ggp.gdl.source import printable

if TYPE_CHECKING:
    from ggp.labs.learning.selfplay.files import About


@click.command(epilog=example("ggp policies"))
@click.argument("places", metavar="[FILE|FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@json_option
@verbose_option
def policies(places: tuple[Path, ...], as_json: bool) -> None:
    """List policies that were learnt, in files or folders; by default in the current one.

    In folders, files whose names end with .policy.npz are looked at.
    """
    from ggp.labs.learning.selfplay.files import SUFFIX, read_policy

    found: list[dict[str, Any]] = []
    for place in places or (Path(),):
        if not place.exists():
            raise ConfigError(f"{place} is neither a file nor a folder")
        files = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
        for path in files:
            try:
                found.append({"file": str(path)} | _told(read_policy(path).about))
            except ConfigError as error:
                if not place.is_dir():
                    raise
                found.append({"file": str(path), "error": str(error)})
    if as_json:
        print_json(found)
    elif found:
        _show(found)
    else:
        click.echo("there are no policies here; `ggp learn GAME` makes one")


def _told(about: About) -> dict[str, Any]:
    record = about.record
    return {
        "game": about.game,
        "digest": about.digest,
        "version": about.version,
        "roles": list(about.roles),
        "hidden": list(about.hidden),
        "weights": about.shape.num_weights,
        **{name: record.get(name) for name in ("seed", "updates", "decisions", "seconds")},
    }


def _show(found: list[dict[str, Any]]) -> None:
    rows = [
        (printable(each["file"]), printable(each["error"]), *[""] * 6)
        if "error" in each
        else (
            *(printable(str(each[name])) for name in ("file", "game")),
            printable(str(each["digest"])[:8]),
            printable(str(each["version"])),
            f"{each['weights']:,}",
            *(printable(str(each[name])) for name in ("updates", "decisions", "seconds")),
        )
        for each in found
    ]
    columns = (
        "file",
        "game",
        "digest",
        "version",
        "#weights",
        "#updates",
        "#decisions",
        "#seconds",
    )
    print_rich(table_of(columns, rows))
