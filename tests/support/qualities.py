"""Qualities of bags, and the words in which people read them."""

from __future__ import annotations

from ggp.belief import How, Quality

IN_WORDS = {
    Quality(How.EXACT, True, 1, 1, 1.0, 0.0, 0): "exact: 1 state, which is all there can be",
    Quality(How.EXACT, True, 1_248, 48, 71.4, 7.129, 0): (
        "exact: 1,248 entries, 48 states, which are all there can be; effective 71"
    ),
    Quality(How.SAMPLED, True, 96, 96, 71.2, 12.2, 12): (
        "sampled: 96 states, of about 10^5.3, effective 71, exact 12 turns ago; sound"
    ),
    Quality(How.SAMPLED, True, 96, 90, 96.0, 7.75, 1): (
        "sampled: 96 entries, 90 states, of about 2,300, effective 96, exact 1 turn ago; sound"
    ),
    Quality(How.SOLVED, True, 12, 12, 12.0, None, None): ("solved: 12 states, effective 12; sound"),
    Quality(How.DRAWN, False, 200, 180, 180.3, None, 7): (
        "drawn: 200 entries, 180 states, effective 180, exact 7 turns ago; "
        "not sound: some may not fit the percepts"
    ),
    Quality(How.SAMPLED, True, 0, 0, 0.0, None, 3): "sampled: no state was found",
    Quality(How.EXACT, True, 0, 0, 0.0, None, 0): "exact: no state fits",
}
