"""Conditions of matches: clocks, limits, and seeds.

Seeds: match number `i` of a series with seed S has the seed S + i, and equals the first match of a
series with that seed. A match's seed gives the referee one generator and every role another, by
role index, so that a player's random choices do not depend on its opponents.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ggp.protocol.messages import Dialect
from ggp.run.clocks import Clock, backstop_s
from match_runner.match.apart import Patience
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, RemoteConditions
from match_runner.remote.wire import DRESDEN, SERVERS, Replacement

MAX_TURNS = 10_000
"""Number of turns after which we cut a match off: strangers' games may not terminate. Yet matches
can be long: where a refused try is a turn, as in kriegspiel, bad players took over a thousand."""

MAX_PAUSE_S = 60
"""Longest pause before a turn, in seconds: players forget silent matches."""

FORGET_S = 90.0
"""Seconds that we wait, beyond twice both clocks, for a busy player to forget a match: players
forget a match that is silent for twice its clocks and a minute."""

MARGIN_SHARE = 0.2
MAX_MARGIN_S = 0.5
"""The deadline of a player is this much before the referee's: it stops within one batch of playouts
after its deadline, measured at up to 0.1 s on kriegTTT and mastermind."""

REFEREE_STREAM = 0
FIRST_ROLE_STREAM = 1
SCRAMBLER_STREAM = 1_000_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a match, whatever the game.

    Attributes:
        play_clock_s: seconds for each decision; None if the players' counts limit it.
        clock: the clock of local players; an arena is made with it (`set_up`). Remote players and
            people have the wall clock.
        max_turns: number of turns after which a match is cut off.
        replacement: which move replaces a late or illegal one.
        pause_s: wait before each turn.
        remote: how to address remote players; players in processes of their own have its start
            clock too.
        in_process: whether players that are not ours play in this process even with a clock; the
            match then waits for one that never answers.
        patience: when to give up players in processes of their own.
        ponder: whether players in the process of the match may think on other players' time.
        prepares: whether they may use the start clock, one after the other. With a start clock that
            nobody chose, a match of a second could take a minute, and people would wait as long.
    """

    play_clock_s: float | None = None
    max_turns: int = MAX_TURNS
    replacement: Replacement = Replacement.RANDOM
    pause_s: float = 0.0
    remote: RemoteConditions = field(default_factory=RemoteConditions)
    in_process: bool = False
    patience: Patience = field(default_factory=Patience)
    clock: Clock = Clock.WALL
    ponder: bool = False
    prepares: bool = False

    @property
    def preparing_s(self) -> int:
        """Seconds that each player in the process of the match may prepare; 0 if none."""
        if self.play_clock_s is None or not self.prepares:
            return 0
        return self.remote.start_clock_s

    @property
    def keeps_apart(self) -> bool:
        """Whether players that are not ours have processes of their own."""
        return self.play_clock_s is not None and not self.in_process

    @property
    def thinking_s(self) -> float:
        """The part of the play clock that a player may use, in seconds."""
        clock_s = self.play_clock_s or 0.0
        return clock_s - min(MARGIN_SHARE * clock_s, MAX_MARGIN_S)

    def how_late(self, clock: Clock, took_s: float, took_on_the_wall_s: float) -> str | None:
        """Say how late an answer is; None if it is in time.

        Args:
            clock: the clock that measured `took_s`.
        """
        clock_s = self.play_clock_s
        if clock_s is None:
            return None
        if took_s > clock_s:
            took = f"{took_s:.2f} {clock.unit}"
            return f"{took}, later than the play clock of {clock_s:g} s"
        if clock is Clock.CPU and took_on_the_wall_s > backstop_s(clock_s):
            return (
                f"{took_on_the_wall_s:.0f} s on the wall, which is too long even for a play clock "
                f"of {clock_s:g} {clock.unit}"
            )
        return None


@dataclass(frozen=True, slots=True)
class ConditionOptions:
    """Conditions as a command or a file names them; the players decide the rest.

    Attributes:
        play_clock_s, clock, ponder, pause_s, in_process: see `Conditions`.
        start_clock_s, scramble: see `RemoteConditions`.
        dialect: dialect of the messages; None for the newest that suits the rules.
        server: name of the server to imitate.
        replacement: which move replaces a late or illegal one; None for the imitated server's
            choice if a remote player takes part, else for a random move.
    """

    play_clock_s: float | None = None
    clock: Clock = Clock.WALL
    start_clock_s: int = DEFAULT_START_CLOCK_S
    ponder: bool = False
    dialect: str | None = None
    server: str = DRESDEN.name
    scramble: bool = False
    replacement: str | None = None
    pause_s: float = 0.0
    in_process: bool = False

    def of_match(self, *, has_remote: bool, patient: bool = False) -> Conditions:
        """The conditions of matches.

        Args:
            has_remote: whether a remote player takes part.
            patient: whether to wait for a remote player that is busy with an interrupted match,
                until it forgets that match.
        """
        server = SERVERS[self.server]
        usual = server.replacement if has_remote else Replacement.RANDOM
        patience_s = 2 * (self.start_clock_s + (self.play_clock_s or 0.0)) + FORGET_S
        return Conditions(
            play_clock_s=self.play_clock_s,
            replacement=Replacement(self.replacement) if self.replacement else usual,
            pause_s=float(self.pause_s),
            remote=RemoteConditions(
                server=server,
                dialect=Dialect(self.dialect) if self.dialect else None,
                start_clock_s=self.start_clock_s,
                scramble=self.scramble,
                patience_s=patience_s if has_remote and patient else 0.0,
            ),
            in_process=self.in_process,
            clock=Clock(self.clock),
            ponder=self.ponder,
            prepares=True,
        )


def seed_of_match(series_seed: int, number: int) -> int:
    """Seed of one match of a series; matches are numbered from 0."""
    return series_seed + number


def stream(seed: int, number: int) -> np.random.Generator:
    """One of the independent generators of a match."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
