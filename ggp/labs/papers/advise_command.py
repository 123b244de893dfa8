"""`ggp advise`: which player suits a game, and why.

A game comes in; short matches (`ggp.library.compare`), the choice of `auto` and the properties of
the game (`advice`) give a table, reasons and one player as the advice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

import click

from ggp.cli.arguments import FiniteRange, GameOptions, PlayerText, clock_option, game_command
from ggp.cli.properties import walks_for
from ggp.console import bar_of, listed, spinner
from ggp.errors import ConfigError
from ggp.labs.papers.advice import Reason, balance, reasons_of
from ggp.library import compare
from ggp.machine.base import player_roles
from ggp.players import PLAYERS, kinds_of
from ggp.players.choosing import SOLUTION, SOLVED_STATES, choose_player
from ggp.report import Report, Table
from ggp.run.clocks import Clock
from ggp.study.properties import measure_properties

DEFAULT_ROUNDS, DEFAULT_SECONDS, DEFAULT_MINUTES = 10, 0.2, 10.0


@game_command("ggp advise monty_hall --player hyperplay --player random --rounds 5")
@click.option(
    "--player",
    "players",
    type=PlayerText(),
    multiple=True,
    metavar="SPEC",
    help="Compare this player; may be repeated. Default: all players of ggp that think, except "
    "auto, which lets one of them play.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=DEFAULT_ROUNDS,
    show_default=True,
    help="Rounds of matches; in each, every player plays every role once.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="Seconds for every decision.",
)
@click.option(
    "--minutes",
    type=FiniteRange(min=0),
    default=DEFAULT_MINUTES,
    show_default=True,
    help="Start no round after this many minutes.",
)
@clock_option()
def advise(
    options: GameOptions,
    players: tuple[str, ...],
    rounds: int,
    seconds: float,
    minutes: float,
    clock: Clock,
) -> None:
    """Say which player suits a game, and why.

    Short matches at equal time decide, if one player is better with 99 % confidence. Otherwise the
    advice is the player that auto would choose, shown with its reason. The other reasons come from
    the figures of `ggp properties`. Without --player, the advice is auto for games that it solves.
    """
    compared = tuple(dict.fromkeys(players)) or tuple(
        name for name in PLAYERS if kinds_of(name) is not None
    )
    if len(compared) < 2:
        raise ConfigError("give at least two players: --player SPEC --player SPEC")
    game = options.load()
    machine = game._machine
    with spinner(f"walking through {options.game}"):
        properties = measure_properties(machine, walks_for(machine), options.seed)
        auto = {
            machine.roles[role]: choose_player(machine, role, SOLVED_STATES, game.program)
            for role in player_roles(machine)
        }
    choices = {name: {"player": choice.player, "why": choice.why} for name, choice in auto.items()}
    for why, names in _roles_by_choice(choices).items():
        click.echo(f"advice before any match: {why[0]} as {listed(names)}: {why[1]}", err=True)
    with bar_of(rounds * len(compared), f"playing {options.game}") as advance:
        summary = compare(
            game,
            compared,
            rounds=rounds,
            seed=options.seed,
            play_clock=seconds,
            clock=clock,
            minutes=minutes,
            advance=advance,
        )
    leans = {choice.player for choice in auto.values()}
    matches = summary.report().values
    result = _advice(options.game, reasons_of(properties), matches, seconds, leans)
    if not players and leans == {SOLUTION}:
        result["player"] = "auto"  # which is not among those that played
    result |= {"clock": clock, "seed": options.seed, "backend": summary.backend}
    result["properties"] = properties.report().values
    result["auto"] = choices
    options.show(Report(result, _parts(result, rounds)))


def _advice(
    game: str,
    reasons: tuple[Reason, ...],
    matches: dict[str, Any],
    seconds: float,
    leans: Collection[str] = (),
) -> dict[str, Any]:
    verdict = matches["verdict"]
    scores = {entry["player"]: entry["score"] for entry in matches["players"]}
    order = sorted(scores, key=lambda player: -(scores[player]["value"] or 0.0))
    # Without a verdict no round was played to its end.
    as_good = [verdict["best"], *verdict["as_good"]] if verdict else order
    kinds = {player: kinds_of(player) or frozenset() for player in order}
    # Ties in the matches are broken by the choice of `auto`, then by the other properties, then by
    # the score.
    player = max(as_good, key=lambda name: (name in leans, balance(reasons, kinds[name])))
    return {
        "game": game,
        "player": player,
        "sure": len(as_good) == 1,
        "more_rounds": verdict and verdict["more_rounds"],
        "as_good": [name for name in as_good if name != player],
        "reasons": [
            {**asdict(reason), "players": [p for p in order if reason.kind in kinds[p]]}
            for reason in reasons
        ],
        "seconds": seconds,
        "matches": matches["played"],
        "faulty": len(matches["faulty"]),
        "fault": next((match["errors"][0] for match in matches["faulty"]), None),
        "scores": scores,
        "methods": matches["methods"],
        "verdict": verdict,
    }


def _parts(result: dict[str, Any], rounds: int) -> Iterator[Table | str]:
    planned = rounds * len(result["scores"])
    rows = [
        (
            ">" if player == result["player"] else "",
            player,
            score["value"],
            None if score["low"] is None else f"{score['low']:.1f} to {score['high']:.1f}",
        )
        for player, score in result["scores"].items()
    ]
    whole = result["matches"] == planned
    yield f"advice: {result['player']}{_certainty(result, whole=whole)}"
    yield Table(("", "player", ("#mean score", ".1f"), "#99 % interval"), rows)
    count = f"{result['matches']}{'' if whole else f' of {planned}'} matches"
    yield f"{count}, {result['seconds']:g} s a decision"
    yield from result["methods"]
    yield f"{result['clock'].words}, seed {result['seed']}, on {result['backend']}"
    if result["faulty"]:
        fault = f"something went wrong, first this: {result['fault']}"
        yield f"in {result['faulty']} of them {fault}"
    for reason in result["reasons"]:
        if reason["players"]:
            sign = "for" if reason["favours"] else "against"
            yield f"{sign} {listed(reason['players'])}: {reason['text']}"
    for why, names in _roles_by_choice(result["auto"]).items():
        yield f"auto plays {why[0]} as {listed(names)}: {why[1]}"


def _roles_by_choice(auto: dict[str, dict[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Roles by the choice of `auto` and its reason."""
    roles: dict[tuple[str, str], list[str]] = {}
    for name, choice in auto.items():
        player = "the solution" if choice["player"] == "solution" else choice["player"]
        roles.setdefault((player, choice["why"]), []).append(name)
    return roles


def _certainty(result: dict[str, Any], *, whole: bool) -> str:
    if result["player"] not in result["scores"]:
        return ", which plays the solution"
    if result["sure"]:
        return ", better than all others (99 % confidence)"
    doubt = f"the matches do not separate it from {listed(result['as_good'])}"
    verdict, more_rounds = result["verdict"], result["more_rounds"]
    if verdict is None:
        return f"; undecided: {doubt}; no round was played to its end"
    if more_rounds is None:
        return f"; undecided: {doubt}; {verdict['forecast']}"
    flags = f"--rounds {verdict['rounds'] + more_rounds}" + ("" if whole else " and more --minutes")
    return f"; undecided: {doubt}; {verdict['forecast']} ({flags})"
