#!/bin/sh
# pokerkit 0.7.7 and eval7 0.1.11 (Python 3.11): no range of unpaired hands with a dash is read by
# both.
#
# Guess: `parse_range` and `HandRange` read the ranges that poker tools write, so `A5s-A2s` and
# `T9s-76s` mean the same hands in both, as `AKs`, `TT+`, `A2s+` and `QQ-99` do.
#
# Seen: pokerkit wants both ends equally far apart (`T9s-76s`) and raises ValueError on `A5s-A2s`;
# eval7 wants the same top card (`A5s-A2s`) and raises RangeStringError on `T9s-76s`. Who feeds one
# range to both, to compare equities or opponents' models, must write out the hands.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pokerkit==0.7.7 eval7==0.1.11 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import eval7
import pokerkit


def read(parse, text):
    try:
        return len(set(parse(text)))
    except Exception as error:
        return type(error).__name__


seen = {
    text: (
        read(pokerkit.parse_range, text),
        read(lambda given: [hand for hand, _ in eval7.HandRange(given).hands], text),
    )
    for text in ("AKs", "TT+", "A2s+", "QQ-99", "A5s-A2s", "KTo-K8o", "T9s-76s", "J9o-97o")
}
for text, counts in seen.items():
    print(text, *counts)
assert seen == {
    "AKs": (4, 4),
    "TT+": (30, 30),
    "A2s+": (48, 48),
    "QQ-99": (24, 24),
    "A5s-A2s": ("ValueError", 16),
    "KTo-K8o": ("ValueError", 36),
    "T9s-76s": (16, "RangeStringError"),
    "J9o-97o": (36, "RangeStringError"),
}
PYTHON
PYTHONPATH="$work/site" python3 seen.py
