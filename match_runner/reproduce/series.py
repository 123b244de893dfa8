"""Comparisons as parts of an experiment: two players, one folder, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.console import installed_version
from ggp.gdl.normalize import load
from match_runner.comparison.executor import Executor
from match_runner.comparison.plan import Options, check_options, plan_measurements
from match_runner.comparison.runner import run_comparison, stored_budgets
from match_runner.comparison.store import PlayedMatch, open_store
from match_runner.comparison.summary import Summary, summarize
from match_runner.comparison.worker import DecisionRow
from match_runner.reproduce.results import Settings, Tell


@dataclass(frozen=True, slots=True)
class Duel:
    """Two players compared; they take turns at the roles.

    In a game with one role both play the same matches.

    Attributes:
        folder: where it is kept, below that of the run.
        equal_states: whether the second gets what the first visits.
    """

    game: str
    player: str
    opponent: str
    folder: str
    equal_states: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """A duel that was played."""

    summary: Summary
    matches: tuple[PlayedMatch, ...]
    failures: tuple[str, ...]

    def decisions(self, player: int) -> list[list[DecisionRow]]:
        """What a player decided between several moves, match by match."""
        return [
            [
                row
                for row in match.outcome.decisions
                if match.planned.seating[row.role] == player and row.candidates > 1
            ]
            for match in self.matches
        ]

    @property
    def rounds(self) -> int:
        """Rounds that were played, of which all matches have the same seed."""
        return len({match.planned.round for match in self.matches})

    def goals(self, player: int, role: str | None = None) -> list[float]:
        """The goal values of a player, in all roles or in one."""
        return [
            match.outcome.goals[name]
            for match in self.matches
            for name, seated in match.planned.seating.items()
            if seated == player and role in (None, name)
        ]


def options_of(duel: Duel, settings: Settings) -> Options:
    """The duel as the comparison that it is.

    With one role `matches` are played by each player, else by both together, who take turns at
    the roles: there must be an even number.
    """
    program = load(duel.game)
    roles = sum(role != "random" for role in program.roles)
    matches = settings.matches * 2 if roles == 1 else settings.matches
    options = Options(
        game=duel.game,
        digest=program.digest,
        roles=program.roles,
        players=(duel.player, duel.opponent),
        matches=matches,
        equal_states=duel.equal_states,
        seed=settings.seed,
        backend=settings.backend,
        version=installed_version(),
    )
    check_options(options)
    return options


def size_of(duel: Duel, settings: Settings) -> int:
    """Matches that it takes, those for measuring among them."""
    options = options_of(duel, settings)
    return options.matches + len(plan_measurements(options))


def play_duel(duel: Duel, settings: Settings, executor: Executor, tell: Tell) -> Played:
    """Play what is missing of a duel.

    Raises:
        ConfigError: its folder holds something else.
        MatchError: workers fail.
    """
    options = options_of(duel, settings)
    with open_store(settings.folder / "matches" / duel.folder, options) as store:
        for kind in ("measure", "play"):
            for _ in store.matches(kind):
                tell()
        failures = run_comparison(options, store, executor, lambda _: tell())
        matches = tuple(store.matches("play"))
        summary = summarize(options, matches, stored_budgets(options, store))
    return Played(summary, matches, failures)
