"""Options of a table, set by whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from match_runner.table.offers import Offers
from match_runner.table.web.guard import HostNames, RequestLimits


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of a table.

    Attributes:
        folder: where matches are kept.
        offers: games and players that pages may name.
        has_token: whether only those are let in who have the table's link.
        names: names by which requests may reach the server.
        jobs: number of matches without people that are played side by side.
        open_minds: whether everybody may look into every mind at any time.
        limits: limits on requests.
        compiles_ahead: whether the machine code of players is compiled when the table opens, where
            that was not done before, so that the first match need not wait for it.
        logs: folder of logs of `ggp serve` that are shown besides those in `folder`.
    """

    folder: Path
    offers: Offers = field(default_factory=Offers)
    has_token: bool = True
    names: HostNames = field(default_factory=HostNames)
    jobs: int = 1
    open_minds: bool = False
    compiles_ahead: bool = False
    limits: RequestLimits = field(default_factory=RequestLimits)
    logs: Path | None = None
