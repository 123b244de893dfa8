"""The commands about a series of many matches: `match-runner compare`, `tournament` and `show`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import (
    SHARED_THREADS,
    FilePath,
    FolderPath,
    PlayerText,
    backend_option,
    clock_option,
    game_argument,
    hint_at_warnings,
    import_option,
    json_option,
    length_options,
    limits_option,
    printing_options,
    seed_option,
    threads_option,
)
from ggp.console import example, tell, verbose_option
from ggp.errors import ConfigError
from ggp.gdl.games import title_of
from ggp.given import rounds_of
from ggp.machine import Limits
from ggp.machine.games import load_program
from ggp.run.clocks import Clock
from match_runner import tournament as summary
from match_runner.cli.options import (
    conditions_options,
    course_options,
    in_process_option,
    note_ignored,
    place_options,
    read_course_files,
    read_place,
    read_until,
    until_options,
    with_threads,
)
from match_runner.match.conditions import ConditionOptions
from match_runner.match.seats import read_roles
from match_runner.remote.remote_players import is_address
from match_runner.series import comparison
from match_runner.series.comparison import summarize
from match_runner.series.holding import Snapshot, Summary, hold_series, printer, read_series
from match_runner.series.plan import Series, SeriesGame, check_series
from match_runner.tournament import read_tournament

_SEVERAL = "--players"
_ONE = "--player"


class _SeveralPlayers(click.Command):
    """A command that reads `--players A B` as `--player A --player B`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        read: list[str] = []
        in_list = False
        for arg in args:
            if arg == _SEVERAL or arg.startswith(f"{_SEVERAL}="):
                in_list = True
                read += [_ONE, arg.partition("=")[2]] if "=" in arg else []
            elif arg.startswith("-"):
                in_list = False
                read.append(arg)
            else:
                read += [_ONE, arg] if in_list else [arg]
        return super().parse_args(ctx, read)


@click.command(
    cls=_SeveralPlayers,
    epilog=example("match-runner compare kuhn_poker --players hyperplay:n=2 random --matches 4"),
)
@game_argument()
@click.option(
    _ONE,
    _SEVERAL,
    "players",
    type=PlayerText(),
    multiple=True,
    metavar="SPEC...",
    help="The players to compare: --players SPEC SPEC after GAME, or --player for each. A player "
    "is a spec, or an address such as http://localhost:9147.",
)
@click.option(
    "--roles",
    type=click.Choice(["rotate", "fixed"]),
    default="rotate",
    show_default=True,
    help="Whether players rotate through the roles, or keep them in the order of the list.",
)
@click.option(
    "--fixed",
    multiple=True,
    metavar="ROLE=SPEC",
    help="Player that keeps a role in all matches and is not compared; may be repeated.",
)
@length_options()
@until_options
@click.option(
    "--equal-states",
    is_flag=True,
    help="Give all players as many states per decision as the first player visits.",
)
@place_options(out="runs/GAME-CODE, with a code of players and settings")
@course_options
@conditions_options
@seed_option("the whole comparison")
@backend_option
@limits_option
@threads_option(SHARED_THREADS)
@printing_options
def compare(
    game: str,
    players: tuple[str, ...],
    roles: str,
    fixed: tuple[str, ...],
    matches: int | None,
    rounds: int | None,
    equal_states: bool,
    seed: int,
    backend: str,
    limits: Limits,
    threads: int | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Compare players in many matches of GAME, played in worker processes.

    Results are saved as matches end. After an interruption, the same command continues; after the
    last match, it prints the tables again. You can add matches later. With --until decided, it
    plays until it is clear who is better. With rotating roles, a round has a match for each player,
    so --matches must be a multiple of their number.
    """
    place = read_place(options)
    files = read_course_files(options)
    until = read_until(options, matches, rounds)
    program = load_program(game)
    fixed_players = read_roles(fixed, program.roles)
    compared = tuple(player.strip() for player in players)
    has_remote = any(map(is_address, (*compared, *fixed_players.values())))
    conditions = ConditionOptions(**options).of_match(has_remote=has_remote, patient=True)
    size = len(compared) if roles == "rotate" else 1
    names = _named(compared)
    if until is None:
        if matches is None and rounds is None:
            raise ConfigError(
                "give the number of matches: --matches N, --rounds N, or --until decided"
            )
        rounds = rounds_of(matches, rounds, size, usual=1, prefix="--")
    elif until.most < size:
        raise ConfigError(f"--most {until.most} is less than one round, {size} matches")
    else:
        rounds = until.most // size
    series = Series(
        players=names,
        games=(SeriesGame(game, program, rounds, conditions, fixed_players),),
        rotate=roles == "rotate",
        equal_states=equal_states,
        seed=seed,
        backend=backend,
        limits=with_threads(limits, threads, place),
    )
    check_series(series)
    if place.folder is None:
        place = replace(place, folder=_default_folder(series))
        tell(f"the series is kept in {place.folder}; the same command continues it")
    note_ignored(conditions, (*compared, *fixed_players.values()))
    if not as_json:
        hint_at_warnings(game, program.diagnostics)

    show = printer(summarize, as_json=as_json)
    return hold_series(series, place, files.wrap(show), until)


def _named(players: tuple[str, ...]) -> dict[str, str]:
    """The players by name; their specs are their names."""
    if len(players) < 2:
        raise ConfigError("give at least two players: --players SPEC SPEC")
    for player in players:
        if players.count(player) > 1:
            raise ConfigError(f"the player {player} is given twice")
    return {player: player for player in players}


def _default_folder(series: Series) -> Path:
    """The folder of a series without one: the same settings lead to the same folder."""
    settings = json.dumps(series.settings(), sort_keys=True)
    code = blake2b(settings.encode(), digest_size=4).hexdigest()
    name = re.sub(r"[^\w.-]+", "-", title_of(series.games[0].name)).strip("-")
    return Path("runs", f"{name}-{code}")


# ------------------------------------------------------------------------
# `match-runner tournament`: a series that a file describes.


@click.command(epilog=example("match-runner tournament spring.toml --plot spring.png"))
@click.argument("file", type=FilePath())
@place_options(out="FILE without .toml")
@course_options
@in_process_option
@clock_option("local players in all games", "from FILE, else wall")
@json_option
@import_option
@verbose_option
def tournament(
    file: Path, as_json: bool, in_process: bool, clock: Clock | None, **options: Any
) -> int:
    """Play the tournament that FILE describes in TOML, and say who is best.

    DIR, by default beside FILE, keeps the results as matches end. After an interruption, the same
    command continues; after the last match, it prints the tables again. You can add rounds later.
    """
    place = read_place(options)
    files = read_course_files(options)
    if place.folder is None:
        default = file.with_suffix("") if file.suffix else file.with_name(f"{file.name}.results")
        place = replace(place, folder=default)

    series = read_tournament(file)
    games = (
        replace(
            game,
            conditions=replace(
                game.conditions,
                in_process=in_process,
                clock=clock or game.conditions.clock,
            ),
        )
        for game in series.games
    )
    series = replace(series, games=tuple(games))
    show = printer(summary.summarize, as_json=as_json)
    return hold_series(series, place, files.wrap(show))


# ------------------------------------------------------------------------
# `match-runner show`: the results of a stored series, shown, drawn and exported again.


@click.command(epilog=example("match-runner show runs/kuhn --csv kuhn.csv --plot kuhn.png"))
@click.argument("folder", metavar="DIR", type=FolderPath())
@course_options
@printing_options
def show(folder: Path, as_json: bool, **options: Any) -> None:
    """Show the results of a stored series again, and draw or export them.

    DIR is the --out of compare, play or tournament, which may still be running. A series of one
    game is shown as a comparison, a series of several games as a tournament. Nothing is played.
    """
    files = read_course_files(options)
    snapshot = read_series(folder)
    several = len(snapshot.series.games) > 1
    summarize: Callable[[Snapshot], Summary] = (summary if several else comparison).summarize
    files.wrap(printer(summarize, as_json=as_json))(snapshot)
