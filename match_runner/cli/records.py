"""The commands for recorded matches: `match-runner replay`, `export`, `picture` and `import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from ggp.cli.arguments import (
    FilePath,
    count_option,
    file_option,
    folder_option,
    hint_at_warnings,
    import_option,
    json_option,
    printing_options,
)
from ggp.console import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    bar_of,
    example,
    print_json,
    print_rich,
    show_error,
    tell,
    verbose_option,
)
from ggp.errors import ConfigError, GGPError, MachineError, MatchError
from ggp.gdl.source import printable
from ggp.machine import Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program
from ggp.run.whole_files import write_whole
from match_runner.archives import EXPORTS, Archived, Unread, matches_in, record_of
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

    A FILE is a record that match-runner wrote, or a log of `ggp serve --log`. With --json, several
    files give a list. A file that cannot be shown does not stop the others.
    """
    outputs: list[object] = []
    code = 0
    for index, file in enumerate(files):
        if index and not as_json:
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
    """Show one file, or for JSON add its contents to `outputs`.

    Returns:
        the exit code: 1 if the record contradicts the rules.
    """
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
    help="The format: of the Dresden GameController, or of ggp-base and Tiltyard.",
)
@file_option("--out", help="File to write; the default is standard output.")
@import_option
@verbose_option
def export(file: Path, target: str, out: Path | None) -> None:
    """Write a recorded match in another program's format.

    Other formats have states. They are computed from the rules in the record, which also checks the
    record. Old records have no rules; then the game must be available here.
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
    """Check a record if its rules are available, and report to stderr; return the exit code."""
    try:
        check_record(record, rules_of(record))
    except MatchError as error:
        show_error(str(error))
        return EXIT_FAILED
    except GGPError as error:
        tell(f"not checked against the rules: {error}")
    return 0


# ------------------------------------------------------------------------
# `match-runner picture`: turns of a recorded match as pictures.


@click.command(epilog=example("match-runner picture records/*.json --turn 1 --out board.svg"))
@click.argument("record", type=FilePath())
@count_option(
    "--turn",
    metavar="N",
    minimum=0,
    help="Draw the state after turn N; 0 is the initial state.  [default: the last turn]",
)
@click.option("--all", "every", is_flag=True, help="Draw every turn, each in its own file.")
@file_option(
    "--out",
    required=True,
    help="File to write; its ending names the format: .svg, .png or .pdf. With --all, the turn's "
    "number is added to the name.",
)
@printing_options
def picture(record: Path, turn: int | None, every: bool, out: Path, as_json: bool) -> None:
    """Draw the board of a recorded match after a turn, with the moves in words.

    The moves are played again by the rules in the record, which also checks the record.
    """
    from match_runner.charts import check_ending
    from match_runner.match.frames import frames_of
    from match_runner.match.records import read_record
    from match_runner.pictures.side_file import side_file_for
    from match_runner.pictures.stills import still

    check_ending(out)
    if every and turn is not None:
        raise ConfigError("--all draws every turn: leave out --turn or --all")
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
    "name the rules by a URL, which is never fetched.",
)
@folder_option(
    "--out",
    "folder",
    required=True,
    help="Folder for the records. A record gets the name of its file, with the number of the line "
    "or match if the file has several; for finalstate.xml it gets the name of the folder.",
)
@printing_options
def import_matches(files: tuple[Path, ...], game: str | None, folder: Path, as_json: bool) -> int:
    """Convert match files from other programs into records.

    A FILE is JSON of ggp-base or ggp.org (a match, a list of matches, or JSON Lines with a match a
    line), or XML of the Dresden GameController, traces included. Each match is played again by the
    rules, which give the percepts of every role and are compared with the states and scores in
    FILE. The records can then be shown, studied and exported. A match that cannot be imported does
    not stop the others.
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
                record = record_of(archived, *rules)
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
    """Reports matches that cannot be imported, immediately and in the exit code.

    Attributes:
        code: the exit code so far.
    """

    code: int = 0

    def say(self, text: str, code: int) -> None:
        """Report the error of a file or a match, in one line."""
        show_error(text)
        self.code = max(self.code, code)


def _rules(game: str | None, match_name: str, address: str) -> tuple[str, GameDefinition, Machine]:
    """The name of the rules of all matches, the rules, and a machine that plays by them.

    Args:
        game: name or path that the user gave; None without one.
        match_name: name of a match, for the error message.
        address: URL of the rules in that match.

    Raises:
        GGPError: the user gave no rules, or they cannot be used.
    """
    if game is None:
        hint = f"; {printable(match_name)} names {printable(address)}, which is not fetched"
        raise ConfigError(f"give the rules of these matches: --game GAME{hint if address else ''}")
    program = load_program(game)
    hint_at_warnings(game, program.diagnostics)
    return game, program, build_machine(program)


def _read(files: Iterable[Path], problems: _Problems) -> Iterator[tuple[Path, Unread, Archived]]:
    """Yield the contents of each match that can be read."""
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
    """Refuse files whose records would overwrite each other, or one of the files."""
    targets: set[Path] = set()
    for file in files:
        target = folder / f"{_name(file)}.json"
        if target in targets:
            raise ConfigError(f"two files would become {target}; import them one by one")
        if target.resolve() == file.resolve():
            raise ConfigError(f"{file} would be replaced by its record; give another --out")
        targets.add(target)


def _name(file: Path) -> str:
    """Name of a file's record.

    The Dresden GameController names a folder after the match, and its last file `finalstate.xml`.
    """
    return file.absolute().parent.name if file.name == "finalstate.xml" else file.stem
