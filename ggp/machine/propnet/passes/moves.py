"""What follows from every role making exactly one move."""

from __future__ import annotations

from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.passes.draft import GATE_COST, Draft


def one_move_each(circuit: Circuit) -> Circuit:
    """"None of these moves" becomes "one of the others" where these are fewer.

    The only move a role can ever have is always made, and no role makes two moves.
    """
    draft = Draft(circuit)
    role_of: dict[int, int] = {}
    moves_of = []
    net = 1 + len(circuit.fluents)
    for role, outputs in enumerate(circuit.legal):
        nets = range(net, net + len(outputs.names))
        moves_of.append(nets)
        role_of.update(dict.fromkeys(nets, role))
        if len(nets) == 1:
            draft.becomes[net] = TRUE
        net += len(nets)
    others: dict[tuple[int, ...], int] = {}

    def one_of_the_others(role: int, left_out: set[int]) -> int:
        rest = tuple(2 * net + 1 for net in moves_of[role] if net not in left_out)
        if len(rest) == 1:
            return rest[0] ^ 1
        if rest not in others:
            others[rest] = draft.add(rest) ^ 1
        return others[rest]

    for net in draft.free_gates():
        made: dict[int, int] = {}
        not_made: dict[int, set[int]] = {}
        rest = []
        for literal in draft.gates[net - draft.first_net]:
            role = role_of.get(literal >> 1)
            if role is None:
                rest.append(literal)
            elif literal & 1:
                not_made.setdefault(role, set()).add(literal >> 1)
            elif made.setdefault(role, literal) != literal:
                rest.append(FALSE)
        if not made and not not_made:
            continue
        for role, nets in not_made.items():
            num_others = len(moves_of[role]) - len(nets)
            price = 1 if num_others == 1 else num_others + 1 + GATE_COST
            if role in made:
                if made[role] >> 1 in nets:
                    rest.append(FALSE)
            elif num_others == 0:
                rest.append(FALSE)
            elif price < len(nets):
                rest.append(one_of_the_others(role, nets))
            else:
                rest += [2 * net + 1 for net in sorted(nets)]
        draft.change(net, [*rest, *made.values()])
    return draft.finish()
