"""`ggp advise`: which player suits a game, and why.

A game comes in; short matches (`ggp.library.compare`), the choice of `auto` and reasons from the
properties of the game (`ggp.study.properties`) give a table and one player as the advice. The
thresholds are from paper 003 (Long et al. 2010) and our own measurements. Reasons speak for kinds
of players (`ggp.search.parts`) or against them; only matches can settle which player is better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    GameOptions,
    PlayerText,
    clock_option,
    game_command,
    length_options,
)
from ggp.cli.solve import walks_for
from ggp.console import EXIT_INTERRUPTED, bar_of, listed, spinner, tell
from ggp.errors import ConfigError, MatchError
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.program import RANDOM
from ggp.given import rounds_of
from ggp.library import compare
from ggp.machine.base import player_roles
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program
from ggp.players import PLAYERS, kinds_of
from ggp.players.choosing import SOLUTION, SOLVED_STATES, choose_player
from ggp.report import Report, Table
from ggp.run.clocks import Clock
from ggp.search.parts import CLAIRVOYANT, INFORMED, SIMULATIONS, TREES
from ggp.study.properties import Properties, RoleProperties, measure_properties

if TYPE_CHECKING:
    from match_runner.series.comparison import ComparisonSummary

COSTLY_GAP = 5.0
"""Clairvoyance gap (points gained by knowing the true state) from which hidden information costs
more than measurement noise."""

CHEAP_GAP = 2.0
"""Clairvoyance gap, in points, below which clairvoyant search loses little."""

MANY_TIES = 0.5
"""Share of decisions with several best moves from which ties speak against clairvoyant search."""

QUICK = 0.5
"""Disambiguation at which sets lose half of their states from one decision to the next."""

LOW_CORRELATION = 0.5
"""Leaf correlation below which the last move still matters."""


WHO = "\0"
"""Stands for the names of roles in a text."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason from the properties of a game.

    Attributes:
        kind: the kind of players that it concerns.
        favours: whether it speaks for them, or against.
        text: the explanation, a sentence.
        roles: the roles for which it holds; none if it holds for the game.
    """

    kind: str
    favours: bool
    text: str
    roles: tuple[str, ...] = ()


def reasons_of(properties: Properties) -> tuple[Reason, ...]:
    """Reasons from the properties of a game, role by role."""
    roles = {
        name: role
        for name, role in properties.roles.items()
        if role.information_sets.mean is not None or role.information_sets.too_large
    }
    if not roles:
        return ()
    if all(_knows_all(role) for role in roles.values()):
        hidden = "nothing is hidden from anybody: "
        return (
            Reason(TREES, True, hidden + "looking further ahead is all there is to gain"),
            Reason(SIMULATIONS, False, hidden + "simulating what others know only costs time"),
        )
    names: dict[Reason, list[str]] = {}
    for name, role in roles.items():
        for reason in _of_role(role):
            names.setdefault(reason, []).append(name)
    return tuple(
        replace(reason, text=reason.text.replace(WHO, listed(whose)), roles=tuple(whose))
        for reason, whose in names.items()
    )


def balance(reasons: tuple[Reason, ...], kinds: frozenset[str]) -> int:
    """Number of reasons for a player of these kinds, minus reasons against it, role by role."""
    return sum(
        (1 if reason.favours else -1) * max(1, len(reason.roles))
        for reason in reasons
        if reason.kind in kinds
    )


def _knows_all(role: RoleProperties) -> bool:
    return role.information_sets.singletons == 1 and not role.information_sets.too_large


def _of_role(role: RoleProperties) -> Iterator[Reason]:
    """Reasons from the properties of one role, with `WHO` in place of its name."""
    gap = role.clairvoyance_gap
    if gap is not None and gap >= COSTLY_GAP:
        text = f"knowing the world would be worth {gap:.1f} points to {WHO}: "
        yield Reason(INFORMED, True, text + "moves that find out or hide something are worth a lot")
        yield Reason(CLAIRVOYANT, False, text + "clairvoyant search acts as if it had them")
    elif gap is not None and gap < CHEAP_GAP and not _knows_all(role):
        yield Reason(
            CLAIRVOYANT,
            True,
            f"knowing the world would be worth only {gap:.1f} points to {WHO}: clairvoyant search "
            "loses little",
        )
    if role.ties is not None and role.ties >= MANY_TIES:
        yield Reason(
            CLAIRVOYANT,
            False,
            f"at {role.ties:.0%} of the decisions of {WHO} several moves look equally good to "
            "clairvoyant search, which cannot choose among them",
        )
    if _knows_all(role):
        return
    if role.disambiguation is not None and role.disambiguation >= QUICK:
        yield Reason(
            CLAIRVOYANT,
            True,
            f"the sets of {WHO} lose {role.disambiguation:.0%} of their states from one decision "
            "to the next: soon the world is known",
        )
    elif role.leaf_correlation is not None and role.leaf_correlation < LOW_CORRELATION:
        yield Reason(
            CLAIRVOYANT,
            False,
            f"the last move often still decides the result of {WHO} (leaf correlation "
            f"{role.leaf_correlation:.2f}), and sets shrink slowly: there paper 003 found "
            "clairvoyant search worst",
        )


# ------------------------------------------------------------------------
# The command.

DEFAULT_ROUNDS, DEFAULT_SECONDS, DEFAULT_MINUTES = 10, 0.2, 10.0

FEW = 3
"""Most players that the line of advice names besides its own."""


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
@length_options(DEFAULT_ROUNDS)
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
    matches: int | None,
    rounds: int | None,
    seconds: float,
    minutes: float,
    clock: Clock,
) -> int:
    """Say which player suits a game, and why.

    The first advice comes from the rules alone, the next from figures of the game; each round of
    matches may change it, and Ctrl-C ends them. Short matches at equal time decide, if one player
    is better with 99 % confidence. Otherwise the advice is the player that auto would choose, shown
    with its reason. The other reasons come from the figures of `ggp properties`. Without --player,
    the advice is auto for games that it solves.
    """
    compared = tuple(dict.fromkeys(players)) or tuple(
        name for name in PLAYERS if kinds_of(name) is not None
    )
    if len(compared) < 2:
        raise ConfigError("give at least two players: --player SPEC --player SPEC")
    rounds = rounds_of(matches, rounds, len(compared), usual=DEFAULT_ROUNDS, prefix="--")
    definition = load_program(options.game)
    player, reason = _by_rules(definition)
    if definition.as_program().rules and player in compared:
        tell(f"advice by the rules alone: {player}: {reason}")
    game = options.load()
    machine = game._machine
    with spinner(f"looking into {options.game}"):
        auto = {
            machine.roles[role]: choose_player(machine, role, SOLVED_STATES, game.program)
            for role in player_roles(machine)
        }
    choices = {name: {"player": choice.player, "why": choice.why} for name, choice in auto.items()}
    for why, names in _roles_by_choice(choices).items():
        tell(f"advice before any match: {why[0]} as {listed(names)}: {why[1]}")
    with spinner(f"walking through {options.game}"):
        properties = measure_properties(machine, walks_for(machine), options.seed)
    reasons, leans = reasons_of(properties), {choice.player for choice in auto.values()}
    advices: list[dict[str, Any]] = []
    said = next(iter(leans)) if len(leans) == 1 else ""

    def refine(summary: ComparisonSummary) -> None:
        nonlocal said
        result = _advice(options.game, reasons, summary.report().values, seconds, leans)
        if not players and leans == {SOLUTION}:
            result["player"] = "auto"  # which is not among those that played
        elif said != result["player"]:
            said = result["player"]
            tell(f"advice after {result['matches']} matches: {said}")
        result |= {"clock": clock, "seed": options.seed, "backend": summary.backend}
        advices.append(result | {"properties": properties.report().values, "auto": choices})

    code = 0
    with bar_of(rounds * len(compared), f"playing {options.game}") as advance:
        try:
            compare(
                game,
                compared,
                rounds=rounds,
                seed=options.seed,
                play_clock=seconds,
                clock=clock,
                minutes=minutes,
                advance=lambda: advance(now=f"so far {said}" if said else ""),
                refine=refine,
            )
        except KeyboardInterrupt:
            if not advices:
                raise
            code = EXIT_INTERRUPTED
    if not advices:
        raise MatchError("no round of matches was played to its end, so there is no advice")
    options.show(Report(advices[-1], _parts(advices[-1], rounds)))
    return code


def _by_rules(program: GameDefinition) -> tuple[str, str]:
    """A player that suits a game, and why, before a machine is built."""
    if move_percept(program.as_program()) is not None:
        return "mcts", "everybody sees every move, and trees look ahead"
    if sum(role != RANDOM for role in program.roles) == 1:
        return "hyperplay2", "one role plays: its simulations ask before they guess"
    return "ismcts", "something may be hidden, and trees need the least"


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
        is_late = result["clock"] is Clock.WALL and "later than the play clock" in result["fault"]
        advice = "; on a busy machine, take --clock cpu" if is_late else ""
        yield f"in {result['faulty']} of them {fault}{advice}"
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
    rivals = result["as_good"]
    others = listed(rivals) if len(rivals) <= FEW else f"{len(rivals)} others"
    doubt = f"the matches do not separate it from {others}"
    verdict, more_rounds = result["verdict"], result["more_rounds"]
    if verdict is None:
        return f"; undecided: {doubt}; no round was played to its end"
    if more_rounds is None:
        return f"; undecided: {doubt}; {verdict['forecast']}"
    flags = f"--rounds {verdict['rounds'] + more_rounds}" + ("" if whole else " and more --minutes")
    return f"; undecided: {doubt}; {verdict['forecast']} ({flags})"
