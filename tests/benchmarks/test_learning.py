"""How fast policies are learnt is measured with the numbers that learners count."""

from __future__ import annotations

from benchmarks.tables.learning import measure_learning


def test_rows_count_the_decisions_that_were_learnt_from() -> None:
    """A lane of kuhn_poker has one decision a turn, but none when cards are dealt."""
    (row,) = measure_learning(0.0, 2, ["kuhn_poker"], lanes=64)
    assert (row["game"], row["lanes"], row["updates"]) == ("kuhn_poker", 64, 2)
    assert 0 < row["decisions"] < 2 * 32 * 64
    assert row["per_cpu_second"] > 0
