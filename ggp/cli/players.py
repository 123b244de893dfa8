"""`ggp players`: the known players with their options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click

from ggp.cli.arguments import printing_options
from ggp.console import example, show_report
from ggp.players import PlayerInfo, describe_player, known_players
from ggp.players.options.option_fields import OptionInfo
from ggp.report import Report, Table

SHARED_BY = 3
"""An option that this many players share, with the same default and meaning, is listed once."""


@click.command(epilog=example("ggp players hyperplay2"))
@click.argument("specs", metavar="[PLAYER]...", nargs=-1)
@click.option("--markdown", is_flag=True, help="Print the tables of docs/reference/players.md.")
@printing_options
def players(specs: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """List all players, or the named ones, with their options.

    A PLAYER is a name, or module:Class for a player of your own.
    """
    infos = [describe_player(name) for name in specs or known_players()]
    parts = markdown_of(infos) if markdown else _parts(infos)
    show_report(Report([asdict(info) for info in infos], parts), as_json=as_json)


def markdown_of(infos: Sequence[PlayerInfo]) -> Iterator[str]:
    """The players as Markdown; options that several share are listed once."""
    shared = _shared(infos)
    for info in infos:
        specific = [option for option in info.options if option not in shared]
        shared_names = [f"`{option.name}`" for option in info.options if option in shared]
        yield from (f"## `{info.name}`", "")
        yield from (info.summary + (f" Source: {info.source}." if info.source else ""), "")
        if specific:
            yield from (*_option_rows(specific), "")
        if shared_names:
            yield from (f"Shared: {', '.join(shared_names)}.", "")
        if not info.options:
            yield from ("It has no options.", "")
    if shared:
        yield from ("## Shared options", "", *_option_rows(shared))


def _shared(infos: Sequence[PlayerInfo]) -> list[OptionInfo]:
    """Options that several players share; of two with the same name, the more frequent one."""
    counts = Counter(option for info in infos for option in info.options)
    by_name = {option.name: option for option, _ in reversed(counts.most_common())}
    return [
        option
        for option, count in counts.items()
        if count >= SHARED_BY and by_name[option.name] == option
    ]


def _option_rows(options: Sequence[OptionInfo]) -> Iterator[str]:
    yield "| option | default | meaning |"
    yield "|---|---|---|"
    for option in options:
        form = option.form.replace("|", "\\|")
        yield f"| `{option.name}={form}` | {option.default or 'none'} | {option.meaning} |"


def _parts(infos: Sequence[PlayerInfo]) -> Iterator[Table | str]:
    for index, info in enumerate(infos):
        if index:
            yield ""
        yield f"{info.name}: {info.summary}"
        if info.source:
            yield f"  {info.source}"
        if info.options:
            rows = [(f"  {o.name}={o.form}", o.default, o.meaning) for o in info.options]
            yield Table(("  option", "default", "meaning"), rows)
    yield ""
    yield "A spec is NAME, NAME:OPTION=VALUE,OPTION=VALUE or module:Class[:OPTION=VALUE]."
