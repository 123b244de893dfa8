"""`match-runner import`: matches that other programs recorded."""

from __future__ import annotations

from pathlib import Path

import click

from ggp.cli.arguments import FilePath, FolderPath, hint_at_warnings, json_option, verbose_option
from ggp.console import EXIT_BAD_INPUT, EXIT_FAILED, example, print_json, show_error
from ggp.errors import ConfigError, MatchError
from ggp.gdl.games import read_file
from ggp.gdl.source import printable
from ggp.machine.games import load_program
from ggp.whole_files import write_whole
from match_runner.archives.archived import Archived, record_of
from match_runner.archives.dresden_xml import read_xml
from match_runner.archives.ggp_json import read_json
from match_runner.match.record_files import make_folder, record_text


@click.command(
    "import", epilog=example("match-runner import match.json --game kuhn_poker --out imported")
)
@click.argument("files", metavar="FILE...", nargs=-1, type=FilePath(), required=True)
@click.option(
    "--game",
    metavar="GAME",
    help="The rules: the name of a game that comes with ggp, or the path of a rulesheet. Files "
    "name them by an address on the network, which is never fetched.",
)
@click.option(
    "--out",
    "folder",
    type=FolderPath(),
    required=True,
    metavar="DIR",
    help="Where the records are written, under the names of the files; that of a finalstate.xml "
    "under the name of its folder.",
)
@json_option
@verbose_option
def import_matches(files: tuple[Path, ...], game: str | None, folder: Path, as_json: bool) -> int:
    """Turn matches that other programs recorded into records.

    A FILE is JSON as ggp-base writes it and ggp.org publishes it, or XML of the Dresden
    GameController. The match is played again by the rules, which give what every role saw; states
    and scores in FILE are compared with them. Records can then be shown, studied and exported. If a
    file cannot be imported, the others still are.
    """
    targets = _targets(files, folder)
    read, code = {}, 0
    for file in files:
        try:
            read[file] = _read(file)
        except ConfigError as error:
            show_error(str(error))
            code = EXIT_BAD_INPUT
    if not read:
        return code
    if game is None:
        named = next(((str(file), each.game) for file, each in read.items() if each.game), None)
        told = "; {} names {}, which is not fetched".format(*map(printable, named)) if named else ""
        raise ConfigError(f"say which rules these matches were played by: --game GAME{told}")
    program = load_program(game)
    hint_at_warnings(game, program.diagnostics)
    make_folder(folder)
    written = []
    for file, archived in read.items():
        try:
            record = record_of(archived, game, program)
        except MatchError as error:
            show_error(f"{file}: {error}")
            code = max(code, EXIT_FAILED)
            continue
        write_whole(targets[file], record_text(record))
        written.append(
            {"file": str(file), "record": str(targets[file]), "turns": len(record.turns)}
        )
        if not as_json:
            click.echo(printable(f"{file} -> {targets[file]}, {len(record.turns)} turns"))
    if as_json:
        print_json(written)
    return code


def _targets(files: tuple[Path, ...], folder: Path) -> dict[Path, Path]:
    """Where the record of each file is written."""
    targets: dict[Path, Path] = {}
    for file in files:
        target = folder / f"{_name(file)}.json"
        if target in targets.values():
            raise ConfigError(f"two files would become {target}; import them one by one")
        if target.resolve() == file.resolve():
            raise ConfigError(f"{file} would be replaced by its record; give another --out")
        targets[file] = target
    return targets


def _name(file: Path) -> str:
    """What the record of a file is called.

    The Dresden GameController names the folder after the match, and the last file in each of them
    `finalstate.xml`.
    """
    return file.absolute().parent.name if file.name == "finalstate.xml" else file.stem


def _read(file: Path) -> Archived:
    data = read_file(file)
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if begin not in (b"{", b"<"):
        raise ConfigError(f"{file} is neither JSON nor XML, so no match that can be imported")
    try:
        return read_xml(data) if begin == b"<" else read_json(data)
    except MatchError as error:
        raise ConfigError(f"{file}: {error}") from error
