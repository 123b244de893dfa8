"""`match-runner import`: matches that other programs recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from ggp.cli.arguments import FilePath, FolderPath, hint_at_warnings, json_option, verbose_option
from ggp.cli.progress import bar_of
from ggp.console import EXIT_BAD_INPUT, EXIT_FAILED, example, print_json, show_error
from ggp.errors import ConfigError, MachineError, MatchError
from ggp.gdl.source import printable
from ggp.machine import Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program
from ggp.run.whole_files import write_whole
from match_runner.archives.archived import Archived, record_of
from match_runner.archives.files import Unread, matches_in
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
    help="Where the records are written, under the names of the files, with the number of the line "
    "or match where a file holds several; that of a finalstate.xml under the name of its folder.",
)
@json_option
@verbose_option
def import_matches(files: tuple[Path, ...], game: str | None, folder: Path, as_json: bool) -> int:
    """Turn matches that other programs recorded into records.

    A FILE is JSON as ggp-base writes it and ggp.org publishes it: a match, a list of matches, or
    JSON Lines with a match a line. Or it is XML of the Dresden GameController, its traces included.
    Each match is played again by the rules, which give what every role saw; states and scores in
    FILE are compared with them. Records can then be shown, studied and exported. If a match cannot
    be imported, the others still are.
    """
    _check_names(files, folder)
    problems, rules = _Problems(), None
    written: list[dict[str, object]] = []
    targets: set[Path] = set()
    of_several: Counter[Path] = Counter()
    with bar_of(None, "importing") as advance:
        for file, match, archived in _read(files, problems):
            advance(now=match.where)
            rules = rules or _rules(game, match.where, archived.game)
            try:
                record = record_of(archived, rules.name, rules.program, rules.machine)
            except (MatchError, MachineError) as error:
                problems.say(f"{match.where}: {error}", EXIT_FAILED)
                continue
            target = folder / f"{_name(file)}{match.suffix}.json"
            if target in targets:
                raise ConfigError(f"two matches would become {target}; import the files one by one")
            targets.add(target)
            make_folder(folder)
            write_whole(target, record_text(record))
            written.append({"file": str(file), "record": str(target), "turns": len(record.turns)})
            if match.suffix:
                of_several[file] += 1
            elif not as_json:
                click.echo(printable(f"{file} -> {target}, {len(record.turns)} turns"))
    if as_json and rules is not None:
        print_json(written)
    elif not as_json:
        for file, num in of_several.items():
            records = folder / f"{_name(file)}-*.json"
            click.echo(
                printable(f"{file} -> {records}, {num} {'match' if num == 1 else 'matches'}")
            )
    return problems.code


@dataclass
class _Problems:
    """What cannot be imported: said at once, and noted in the exit code.

    Attributes:
        code: the exit code so far.
    """

    code: int = 0

    def say(self, text: str, code: int) -> None:
        """Say in a line what is wrong with a file or a match."""
        show_error(text)
        self.code = max(self.code, code)


class _Rules(NamedTuple):
    """The rules of all matches: what they are called, and a machine that plays by them."""

    name: str
    program: GameDefinition
    machine: Machine


def _rules(game: str | None, where: str, named: str) -> _Rules:
    """Load the rules.

    Args:
        game: what the user calls them.
        where: a match, for the message that the user has not named any.
        named: the address of the rules, as the match names them.

    Raises:
        GGPError: they are not given, or cannot be used.
    """
    if game is None:
        told = f"; {printable(where)} names {printable(named)}, which is not fetched"
        raise ConfigError(
            f"say which rules these matches were played by: --game GAME{told if named else ''}"
        )
    program = load_program(game)
    hint_at_warnings(game, program.diagnostics)
    return _Rules(game, program, build_machine(program))


def _read(files: Iterable[Path], problems: _Problems) -> Iterator[tuple[Path, Unread, Archived]]:
    """Yield what the files tell of each match that can be read."""
    for file in files:
        try:
            for match in matches_in(file):
                try:
                    archived = match.read()
                except MatchError as error:
                    problems.say(f"{match.where}: {error}", EXIT_BAD_INPUT)
                    continue
                yield file, match, archived
        except ConfigError as error:
            problems.say(str(error), EXIT_BAD_INPUT)


def _check_names(files: tuple[Path, ...], folder: Path) -> None:
    """Refuse files whose records would replace each other, or a file."""
    targets: set[Path] = set()
    for file in files:
        target = folder / f"{_name(file)}.json"
        if target in targets:
            raise ConfigError(f"two files would become {target}; import them one by one")
        if target.resolve() == file.resolve():
            raise ConfigError(f"{file} would be replaced by its record; give another --out")
        targets.add(target)


def _name(file: Path) -> str:
    """What the record of a file is called.

    The Dresden GameController names the folder after the match, and the last file in each of them
    `finalstate.xml`.
    """
    return file.absolute().parent.name if file.name == "finalstate.xml" else file.stem
