"""Whether a cell agrees with the paper's, as far as its games tell.

Two things are compared, both at 99 %: who wins more than it loses, and by how much. Our interval of
the lead holds however many games were added at any time; that of the paper follows from its rates
and its number of games. A difference that is smaller than the error in the paper is none there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggp.statistics.intervals import Interval, mean_interval
from match_runner.reproduce.kriegspiel.published import Published
from match_runner.series.verdicts import DECIDED, DIFFERENCES, judge

AGREES, PARTLY, DIFFERS, OPEN = (
    "agrees",
    "agrees in who is better, differs in how much",
    "differs",
    "open",
)


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """What can be said of a cell.

    Attributes:
        lead: percent of games won by the first less percent lost, with its 99 % interval.
        verdict: one of `AGREES`, `PARTLY`, `DIFFERS`, `DECIDED` and `OPEN`.
        missing: about how many more games would tell who is better, if it is open and if they go
            like those so far; None if that is not known.
    """

    lead: Interval
    verdict: str
    missing: int | None = None

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.verdict != OPEN:
            return self.verdict
        games = "more games" if self.missing is None else f"about {self.missing:,} games"
        return f"{OPEN}: {games} missing"


def verdict_of(differences: Sequence[float], paper: Published | None) -> CellVerdict:
    """Verdict on a cell.

    Args:
        differences: how much more the first scored in each round of two games, in points.
        paper: what the paper says; without it a cell is `DECIDED` once it is clear who is better.
    """
    lead = mean_interval(differences, 0, DIFFERENCES, fixed=False)
    if lead.low is None or lead.high is None:
        return CellVerdict(lead, OPEN)
    sign = int(lead.low > 0) - int(lead.high < 0)
    if paper is None:
        found = DECIDED if sign else OPEN
    else:
        apart = lead.low > paper.lead + paper.error or lead.high < paper.lead - paper.error
        theirs = int(paper.lead > paper.error) - int(paper.lead < -paper.error)
        if sign and sign == theirs:
            found = PARTLY if apart else AGREES
        elif apart or (sign and theirs):
            found = DIFFERS
        else:
            small = max(-lead.low, lead.high) < paper.error
            found = AGREES if sign or small else OPEN
    missing = None
    if found == OPEN:
        judged = judge(("first", "second"), [{0: d, 1: 0.0} for d in differences], 0, fixed=False)
        more = None if judged is None else judged.more_rounds
        missing = None if more is None else 2 * more
    return CellVerdict(lead, found, missing)
