"""Options that several benchmarks take."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

rulesheets_option = click.option(
    "--rulesheets", type=_FOLDER, help="Folder with rulesheets by others, measured as well."
)
against_option = click.option(
    "--against", type=_FOLDER, help="Folder of another version of the project, measured in turns."
)
out_option = click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON file to write."
)
