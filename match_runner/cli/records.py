"""Recorded matches: `match-runner replay`, `export`, `picture` and `import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from ggp.cli.arguments import (
    FilePath,
    FolderPath,
    hint_at_warnings,
    import_option,
    json_option,
)
from ggp.console import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    bar_of,
    example,
    print_json,
    print_rich,
    show_error,
    verbose_option,
)
from ggp.errors import ConfigError, GGPError, MachineError, MatchError
from ggp.gdl.source import printable
from ggp.machine import Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program
from ggp.run.whole_files import write_whole
from match_runner.archives import Archived, Unread, matches_in, record_of
from match_runner.match.exports import EXPORTS
from match_runner.match.records import (
    MatchRecord,
    check_record,
    make_folder,
    read_record,
    record_text,
    rules_of,
)
from match_runner.match.server_log import is_log, read_log
from match_runner.match.views import show_log, show_record


@click.command(epilog=example("match-runner replay records/*.json"))
@click.argument("files", metavar="FILE...", nargs=-1, type=FilePath(), required=True)
@json_option
@import_option
@verbose_option
def replay(files: tuple[Path, ...], as_json: bool) -> int:
    """Show recorded matches, and check them against the rules of their games.

    A FILE is a record that match-runner wrote, or a log that `ggp serve --log` kept. With --json,
    several of them become a list. If one cannot be shown, the others still are.
    """
    outputs: list[object] = []
    code = 0
    for number, file in enumerate(files):
        if number and not as_json:
            click.echo()
        try:
            code = max(code, _replay(file, outputs, as_json=as_json))
        except ConfigError as error:
            show_error(str(error))
            code = EXIT_BAD_INPUT
    if as_json and outputs:
        print_json(outputs if len(files) > 1 else outputs[0])
    return code


def _replay(file: Path, outputs: list[object], *, as_json: bool) -> int:
    """Show one file, or for JSON add its contents to `outputs`; 1 if it contradicts the rules."""
    if is_log(file):
        events = read_log(file)
        outputs.append(events)
        if not as_json:
            print_rich(*show_log(events, sys.stdout.encoding))
        return 0
    record = read_record(file)
    outputs.append(record.to_json())
    if not as_json:
        print_rich(*show_record(record, sys.stdout.encoding))
    return _check(record)


@click.command(
    epilog=example("match-runner export records/*.json --to tiltyard-json --out match.json")
)
@click.argument("file", type=FilePath())
@click.option(
    "--to",
    "target",
    type=click.Choice(list(EXPORTS)),
    required=True,
    help="The format: that of the Dresden GameController, or that of ggp-base and Tiltyard.",
)
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE",
    help="Where to write it; the default is standard output.",
)
@import_option
@verbose_option
def export(file: Path, target: str, out: Path | None) -> None:
    """Write a recorded match in the format of another program.

    Other formats hold states. These are computed from the rules in the record, which checks the
    record too. Old records have no rules; for these the game must be available.
    """
    record = read_record(file)
    rules = rules_of(record)
    states = check_record(record, rules)
    text = EXPORTS[target](record, states, rules.as_program().spelling)
    if out is None:
        click.echo(text, nl=False)
        return
    write_whole(out, text)


def _check(record: MatchRecord) -> int:
    """Check a record if its rules are available, and report on stderr; returns the exit code."""
    try:
        check_record(record, rules_of(record))
    except MatchError as error:
        show_error(str(error))
        return EXIT_FAILED
    except GGPError as error:
        click.echo(f"not checked against the rules: {error}", err=True)
    return 0


# ------------------------------------------------------------------------
# `match-runner picture`: turns of a recorded match as pictures.


@click.command(epilog=example("match-runner picture records/*.json --turn 1 --out board.svg"))
@click.argument("record", type=FilePath())
@click.option(
    "--turn",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw the state after turn N; 0 is the beginning.  [default: the last turn]",
)
@click.option("--all", "every", is_flag=True, help="Draw all turns, a file each.")
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE",
    required=True,
    help="Where to write it; its ending says in which format: .svg, .png or .pdf. With --all the "
    "number of the turn is added to the name.",
)
@json_option
@verbose_option
def picture(record: Path, turn: int | None, every: bool, out: Path, as_json: bool) -> None:
    """Draw the board of a recorded match after a turn, with its moves in words.

    The moves are played again by the rules in the record, which checks it too.
    """
    from match_runner.charts import check_ending
    from match_runner.match.frames import frames_of
    from match_runner.match.records import read_record
    from match_runner.pictures.side_file import side_file_for
    from match_runner.pictures.stills import still

    check_ending(out)
    if every and turn is not None:
        raise ConfigError("--all draws every turn: leave out --turn, or --all")
    match = read_record(record)
    last = len(match.turns)
    if turn is not None and turn > last:
        raise ConfigError(f"--turn {turn}: {record} has the turns 0 to {last}")
    turns = range(last + 1) if every else [last if turn is None else turn]
    written = []
    digits = len(str(last))
    for number, frame in enumerate(frames_of(match, side_file_for(match.game, match.rules))):
        if number in turns:
            numbered = out.with_stem(f"{out.stem}-{number:0{digits}}")
            path = numbered if every else out
            still(frame).save(path)
            written.append(str(path))
    if as_json:
        print_json(written)
    else:
        click.echo("\n".join(written))


# ------------------------------------------------------------------------
# `match-runner import`: matches that other programs recorded.


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
            advance(now=match.location)
            rules = rules or _rules(game, match.location, archived.game)
            try:
                record = record_of(archived, rules.name, rules.program, rules.machine)
            except (MatchError, MachineError) as error:
                problems.say(f"{match.location}: {error}", EXIT_FAILED)
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


def _rules(game: str | None, match_name: str, address: str) -> _Rules:
    """Load the rules.

    Args:
        game: what the user calls them.
        match_name: a match, for the message that the user has not named any.
        address: the address of the rules, as the match names them.

    Raises:
        GGPError: they are not given, or cannot be used.
    """
    if game is None:
        hint = f"; {printable(match_name)} names {printable(address)}, which is not fetched"
        raise ConfigError(
            f"say which rules these matches were played by: --game GAME{hint if address else ''}"
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
                    problems.say(f"{match.location}: {error}", EXIT_BAD_INPUT)
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
