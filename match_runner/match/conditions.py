"""Conditions under which matches are played: clocks, limits, and seeds.

Seeds: match number `i` of a series with seed S has the seed S + i, and is the first match of
a series with that seed. From a match's seed the referee gets one generator and every role its
own, by role index, so that a player's random choices do not depend on who the others are.
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
"""Number of turns after which a match is cut off: strangers' games may not terminate. But where a
refused try is a turn, as in kriegspiel, players without a clue have had more than a thousand."""

MAX_PAUSE_S = 60
"""Longest pause before a turn, in seconds: players forget matches that stay silent."""

FORGET_S = 90.0
"""Seconds that we wait, beyond twice both clocks, for a busy player to forget a match: players
forget matches that are silent for twice their clocks and a minute."""

MARGIN_SHARE = 0.2
MAX_MARGIN_S = 0.5
"""Players are told a deadline this much before the referee's: they stop within one batch of
playouts after theirs, measured at up to 0.1 s on kriegTTT and mastermind."""

REFEREE_STREAM = 0
FIRST_ROLE_STREAM = 1
SCRAMBLER_STREAM = 1_000_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a match, whatever the game.

    Attributes:
        play_clock_s: time for each decision; None lets the players' counts decide.
        clock: the clock that local players are on; an arena is made with it (`set_up`). Remote
            players and people are on the wall clock.
        max_turns: number of turns after which a match is cut off.
        replacement: what is played instead of a late or illegal move.
        pause_s: wait before each turn.
        remote: how remote players are addressed; players in processes of their own have its start
            clock too.
        in_process: whether players that are not ours play in this process even with a clock; the
            match then waits for one that never answers.
        patience: when players in processes of their own are given up.
        ponder: whether players in the process of the match may think on in the time of others.
        prepares: whether they may use the start clock, one after the other. Where nobody has said
            how long it is, a match of a second would take a minute, or a person wait for that long.
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
        """How late an answer is, in words; None if it is in time.

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
    """Conditions as a command or a file asks for them; who plays decides the rest.

    Attributes:
        play_clock_s, clock, ponder, pause_s, in_process: see `Conditions`.
        start_clock_s, scramble: see `RemoteConditions`.
        dialect: dialect of the messages; None for the newest that suits the rules.
        server: name of the server that is imitated.
        replacement: what is played instead of a late or illegal move; None for what the imitated
            server plays if a remote player takes part, else a random move.
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
            patient: whether we wait for a remote player that is busy because it still believes in a
                match that was broken off, until it forgets that match.
        """
        server = SERVERS[self.server]
        usual = server.replacement if has_remote else Replacement.RANDOM
        patience_s = 2 * (self.start_clock_s + (self.play_clock_s or 0.0)) + FORGET_S
        return Conditions(
            play_clock_s=self.play_clock_s,
            replacement=Replacement(self.replacement) if self.replacement else usual,
            pause_s=self.pause_s,
            remote=RemoteConditions(
                server=server,
                dialect=Dialect(self.dialect) if self.dialect else None,
                start_clock_s=self.start_clock_s,
                scramble=self.scramble,
                patience_s=patience_s if has_remote and patient else 0.0,
            ),
            in_process=self.in_process,
            clock=self.clock,
            ponder=self.ponder,
            prepares=True,
        )


def seed_of_match(series_seed: int, number: int) -> int:
    """Seed of one match of a series; matches are numbered from 0."""
    return series_seed + number


def stream(seed: int, number: int) -> np.random.Generator:
    """One of the independent generators of a match."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
