"""Two experiments beyond the paper's: its known limitation, and larger games."""

from __future__ import annotations

from ggp.labs.papers.reproduce.duels import Duel, backends_of, play_duel, size_of
from ggp.labs.papers.reproduce.figures import STRONG, point_of, score_text, states_of
from ggp.labs.papers.reproduce.results import (
    BY_LOT,
    Claim,
    ReferenceLine,
    Result,
    RunSettings,
    Tell,
    agrees_with,
)
from match_runner.workers.executor import Executor

LARGER_GAMES = ("krieg_tic_tac_toe", "blind_breakthrough", "meier")
_N = 4


class Limitation:
    """The limitation: coordination without communication, at which both players fail."""

    name = "limitation"

    def size(self, settings: RunSettings) -> int:
        return sum(size_of(duel, settings) for duel in self._duels())

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        duels = [play_duel(duel, settings, executor, tell) for duel in self._duels()]
        points = tuple(
            point_of("both spies", " and ".join(p.player for p in duel.summary.players), duel)
            for duel in duels
        )
        return Result(
            self.name,
            "Limitation: cooperative spies",
            "The first spy knows the wire and sends a word that no rule connects with it; both "
            "spies score the same. A player is paired with one of its kind with other resources, "
            "and HyperPlay-II with HyperPlay; they take turns at the roles.",
            "mean score",
            points,
            claims=tuple(
                Claim(
                    f"{point.at} cannot coordinate",
                    "paper: not possible; by chance 50",
                    score_text(point.value),
                    agrees_with(point, 50.0),
                )
                for point in points
            ),
            lines=(ReferenceLine(50.0, "guessing"),),
            failures=tuple(text for duel in duels for text in duel.failures),
            backends=backends_of(duels),
        )

    def _duels(self) -> list[Duel]:
        ours = (f"hyperplay2:n=8{BY_LOT}", f"hyperplay2:n=4{BY_LOT}")
        theirs = (f"{STRONG}{BY_LOT}", f"hyperplay:n=4{BY_LOT}")
        pairs = {"both-ii": ours, "both-hyperplay": theirs, "mixed": (ours[0], theirs[0])}
        return [
            Duel("cooperative_spies", players, folder=f"{self.name}/{folder}")
            for folder, players in pairs.items()
        ]


class LargerGames:
    """HyperPlay-II against HyperPlay with equal states, in games without published numbers."""

    name = "larger"

    def size(self, settings: RunSettings) -> int:
        return sum(size_of(duel, settings) for duel in self._duels())

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        duels = {duel.game: play_duel(duel, settings, executor, tell) for duel in self._duels()}
        return Result(
            self.name,
            "Larger games",
            f"HyperPlay-II (n = {_N}) against HyperPlay with as many states to visit for each "
            "decision as it visits in that role at that turn when it plays itself "
            "(`--equal-states`); the players take turns at the roles. The paper has no numbers "
            "for these games.",
            "mean score",
            points=tuple(point_of("HyperPlay-II", game, duel) for game, duel in duels.items()),
            claims=(),
            lines=(ReferenceLine(50.0, "equal players"),),
            states=tuple(
                states
                for game, duel in duels.items()
                for states in states_of("HyperPlay-II", game, duel)
            ),
            failures=tuple(text for duel in duels.values() for text in duel.failures),
            backends=backends_of(duels.values()),
        )

    def _duels(self) -> list[Duel]:
        return [
            Duel(
                game,
                (f"hyperplay2:n={_N}{BY_LOT}", f"hyperplay:n={_N}{BY_LOT}"),
                f"{self.name}/{game}",
                equal_states=True,
            )
            for game in LARGER_GAMES
        ]
