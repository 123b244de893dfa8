"""`ggp advise`: which player suits a game, and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    PlayerText,
    backend_option,
    clock_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.properties import walks_for
from ggp.cli.solving import bar_of
from ggp.console import example, listed, print_json, print_rich, spinner, table_of
from ggp.errors import ConfigError
from ggp.gdl.source import printable
from ggp.launch import Loading
from ggp.run.clocks import Clock

if TYPE_CHECKING:
    from ggp.labs.papers.advice import Reason
    from ggp.machine import Limits


DEFAULT_ROUNDS, DEFAULT_SECONDS, DEFAULT_MINUTES = 10, 0.2, 10.0


@click.command(
    epilog=example("ggp advise monty_hall --player hyperplay --player random --rounds 5")
)
@click.argument("game")
@click.option(
    "--player",
    "players",
    type=PlayerText(),
    multiple=True,
    metavar="SPEC",
    help="Compare this player; may be repeated. Without it, all that come with ggp and think, but "
    "not auto, which lets one of them play.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=DEFAULT_ROUNDS,
    show_default=True,
    help="Of matches; in each every player plays every role once.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="The clock of every decision in them.",
)
@click.option(
    "--minutes",
    type=FiniteRange(min=0),
    default=DEFAULT_MINUTES,
    show_default=True,
    help="Begin no other round after so many.",
)
@clock_option()
@seed_option()
@backend_option
@limits_option
@json_option
@verbose_option
def advise(
    game: str,
    players: tuple[str, ...],
    rounds: int,
    seconds: float,
    minutes: float,
    clock: Clock,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Say which player suits a game, and why.

    Short matches at equal time decide, as far as they can tell one player from the others for
    certain (99 %). Else it is the player that auto would let play, which is shown with the reason.
    The other reasons come from the figures of `ggp properties`. Without --player, the advice is
    auto for games that it solves.
    """
    with Loading():
        from ggp.labs.papers.advice import reasons_of
        from ggp.library import Game, compare
        from ggp.machine.base import player_roles
        from ggp.players import PLAYERS, kinds_of
        from ggp.players.choosing import SOLUTION, SOLVED_STATES, choose_player
        from ggp.study.properties import measure_properties

    asked = tuple(dict.fromkeys(players)) or tuple(
        name for name in PLAYERS if kinds_of(name) is not None
    )
    if len(asked) < 2:
        raise ConfigError("give at least two players: --player SPEC --player SPEC")
    opened = open_game(game, backend, limits=limits)
    with spinner(f"walking through {game}"):
        found = measure_properties(opened.machine, walks_for(opened.machine), seed)
        auto = {
            opened.machine.roles[role]: choose_player(
                opened.machine, role, SOLVED_STATES, opened.program
            )
            for role in player_roles(opened.machine)
        }
    playing = Game(game, opened.program, opened.machine)
    with bar_of(rounds * len(asked), f"playing {game}") as advance:
        summary = compare(
            playing,
            asked,
            rounds=rounds,
            seed=seed,
            play_clock=seconds,
            clock=clock,
            minutes=minutes,
            advance=advance,
        )
    leans = {each.player for each in auto.values()}
    result = _advice(game, reasons_of(found), summary.to_json(), seconds, leans)
    if not players and leans == {SOLUTION}:
        result["player"] = "auto"  # which is not among those that played
    result |= {"clock": clock, "seed": seed, "backend": summary.backend}
    result["properties"] = found.to_json()
    result["auto"] = {name: {"player": each.player, "why": each.why} for name, each in auto.items()}
    if as_json:
        print_json(result)
    else:
        _show(result, rounds)


def _advice(
    game: str,
    reasons: tuple[Reason, ...],
    matches: dict[str, Any],
    seconds: float,
    leans: Collection[str] = (),
) -> dict[str, Any]:
    pass
    from ggp.labs.papers.advice import balance
    from ggp.players import kinds_of

    verdict = matches["verdict"]
    scores = {each["player"]: each["score"] for each in matches["players"]}
    order = sorted(scores, key=lambda player: -(scores[player]["value"] or 0.0))
    # Without a verdict no round was played to its end.
    as_good = [verdict["best"], *verdict["as_good"]] if verdict else order
    kinds = {player: kinds_of(player) or frozenset() for player in order}
    # Among players that matches cannot tell apart decides what `auto` would play, then the other
    # properties, then the score.
    chosen = max(as_good, key=lambda player: (player in leans, balance(reasons, kinds[player])))
    return {
        "game": game,
        "player": chosen,
        "sure": len(as_good) == 1,
        "more_rounds": verdict and verdict["more_rounds"],
        "as_good": [player for player in as_good if player != chosen],
        "reasons": [
            {**asdict(each), "players": [p for p in order if each.kind in kinds[p]]}
            for each in reasons
        ],
        "seconds": seconds,
        "matches": matches["played"],
        "faulty": len(matches["faulty"]),
        "fault": next((each["errors"][0] for each in matches["faulty"]), None),
        "scores": scores,
        "methods": matches["methods"],
        "verdict": verdict,
    }


def _show(result: dict[str, Any], rounds: int) -> None:
    planned = rounds * len(result["scores"])
    rows = [
        [
            ">" if player == result["player"] else "",
            player,
            _text(score["value"]),
            "-" if score["low"] is None else f"{score['low']:.1f} to {score['high']:.1f}",
        ]
        for player, score in result["scores"].items()
    ]
    print_rich(table_of(["", "player", "#mean score", "#99 % interval"], rows))
    whole = result["matches"] == planned
    played = f"{result['matches']}{'' if whole else f' of {planned}'} matches"
    click.echo(f"{played}, {result['seconds']:g} s a decision")
    for method in result["methods"]:
        click.echo(method)
    click.echo(f"{result['clock'].words}, seed {result['seed']}, on {result['backend']}")
    if result["faulty"]:
        fault = f"something went wrong, first this: {result['fault']}"
        click.echo(printable(f"in {result['faulty']} of them {fault}"))
    for reason in result["reasons"]:
        if reason["players"]:
            sign = "for" if reason["favours"] else "against"
            click.echo(f"{sign} {listed(reason['players'])}: {reason['text']}")
    for why, names in _alike(result["auto"]).items():
        click.echo(f"auto plays {why[0]} as {listed(names)}: {why[1]}")
    click.echo(f"advice: {result['player']}{_certainty(result, whole=whole)}")


def _alike(auto: dict[str, dict[str, str]]) -> dict[tuple[str, str], list[str]]:
    """The roles for which the same was chosen for the same reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, each in auto.items():
        player = "the solution" if each["player"] == "solution" else each["player"]
        found.setdefault((player, each["why"]), []).append(name)
    return found


def _certainty(result: dict[str, Any], *, whole: bool) -> str:
    if result["player"] not in result["scores"]:
        return ", which plays the solution"
    if result["sure"]:
        return ", which scored more than all others for certain (99 %)"
    told = f"the matches cannot tell it from {listed(result['as_good'])}"
    verdict, more = result["verdict"], result["more_rounds"]
    if verdict is None:
        return f"; undecided; no round was played to its end: {told}"
    if more is None:
        return f"; undecided; {verdict['forecast']}: {told}"
    asked = f"--rounds {verdict['rounds'] + more}" + ("" if whole else " and more --minutes")
    return f"; undecided; {verdict['forecast']} ({asked}): {told}"


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
