"""Nets that say the same, and literals that say nothing new, by sampling and proof.

Random matches show what every net is in thousands of states. Nets that differ in one of them are
different, and that takes no proof. Nets that agree in all of them are put to the solver: is there a
state, of those that what is known of fluents allows, in which they differ? If there is none, one of
them takes the place of the other. If there is one, it joins the random states (`Evidence`).

    states       1 2 3 4
    net 7        0 1 1 0
    net 8        1 0 0 1      not 7, it seems: asked about
    net 9        0 1 1 1      differs from 7 and from not 8 in state 4: not asked about
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.knowledge import Knowledge
from ggp.machine.propnet.optimise.proofs.evidence import MOST_LITERALS, Evidence
from ggp.machine.propnet.optimise.work import Work

SHARE = 0.3
MAX_STEPS = 2_000_000
"""How much of the work that is left may be done here, and how much at most."""

PATIENCE = 700_000
"""Steps without any gain after which no more literals are tried."""


def sweep(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    """Merge nets that agree in every reachable state, and drop literals that others imply.

    What depends on moves need only be right where legal moves are made.
    """
    if circuit.num_literals > MOST_LITERALS:
        return circuit
    draft = Draft(circuit)
    work = knowledge.work
    until = work.until(SHARE, MAX_STEPS)
    evidence = Evidence(draft, knowledge, until)
    _merge(draft, evidence, work, until)
    _drop_literals(draft, evidence, work, until)
    return draft.finish()


def _merge(draft: Draft, evidence: Evidence, work: Work, until: int) -> None:
    """Let nets become the one of least effort among those they agree with."""
    efforts = _efforts(draft)
    order = sorted(range(len(efforts)), key=lambda net: (efforts[net], net))
    tried: set[tuple[int, int]] = set()
    while True:
        # Evidence grows: nets that were told apart may still agree with others.
        pairs = [pair for pair in _alike(draft, evidence, order) if pair not in tried]
        if not pairs:
            return
        tried.update(pairs)
        for net, literal in pairs:
            if work.spent > until:
                return
            # Two questions: can one hold without the other, and the other without the one?
            if all(
                evidence.never(net, [2 * net + inverted, literal ^ inverted ^ 1])
                for inverted in (0, 1)
            ):
                draft.becomes[net] = literal


def _alike(draft: Draft, evidence: Evidence, order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Nets, and literals of other nets that were always the same in random matches."""
    values, running = evidence.values, evidence.running
    found: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
    # A lane that runs, so that leaving out others does not change its bit.
    word = int((running != 0).argmax())
    bits = int(running[word])
    lane = np.uint64(bits & -bits or 1)
    for net in order:
        if net in draft.becomes:
            continue
        # Taken such that this lane is 0: a net and the inverse of another are then alike, too.
        inverted = int(values[net, word] & lane != 0)
        words = evidence.words(2 * net + inverted) & evidence.used
        while_running = (words & running).tobytes()
        moves_matter = evidence.moves_matter[net]
        # Nets that depend on moves mean nothing where none is made, and may differ there.
        key = while_running if moves_matter else words.tobytes()
        literal = found[moves_matter].setdefault(key, 2 * net + inverted)
        if literal >> 1 != net:
            if draft.gate(net) is not None:
                yield net, literal ^ inverted
        # A net that does not depend on moves may also stand for one that does.
        elif not moves_matter:
            found[True].setdefault(while_running, literal)


def _drop_literals(draft: Draft, evidence: Evidence, work: Work, until: int) -> None:
    """Drop literals that hold wherever the others of a gate do."""
    gained_at = work.spent
    for net in draft.free_gates():
        if net in draft.becomes:
            continue
        if work.spent > min(until, gained_at + PATIENCE):
            break
        gate = draft.gates[net - draft.first_net]
        kept = list(gate)
        # Later nets first: without them, gates below them may not be needed any more.
        for literal in sorted(gate, reverse=True):
            if work.spent > until:
                break
            others = [x for x in kept if x != literal]
            if evidence.never(net, [*others, literal ^ 1]):
                kept = others
        if len(kept) < len(gate):
            draft.change(net, kept)
            gained_at = work.spent


def _efforts(draft: Draft) -> list[int]:
    """How many gates each net depends on, itself included."""
    below = [0] * (draft.first_net + len(draft.gates))
    for net, gate in enumerate(draft.gates, draft.first_net):
        mask = 1 << net - draft.first_net
        for literal in gate:
            mask |= below[literal >> 1]
        below[net] = mask
    return [mask.bit_count() for mask in below]
