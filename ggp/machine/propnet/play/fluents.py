"""The fluents of packed states, as bits, words and texts; those that always hold are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.errors import MachineError
from ggp.machine.base import BoolArray
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.play.kernels.packed import Packed, pack, pack_rows, unpack
from ggp.machine.threads import made_once


class Fluents:
    """The fluents of a circuit.

    Attributes:
        names: `[F]` as canonical KIF: those of the circuit, then those that hold in every state.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.names = (*circuit.fluents, *circuit.constant)
        self._num_packed = len(circuit.fluents)

    def words(self, packed: Packed) -> Packed:
        """`[L, ceil(F / 64)]` the fluents that hold."""
        if len(self.names) == self._num_packed:
            return packed
        constant = pack(np.arange(len(self.names)) >= self._num_packed)
        held = np.repeat(constant[None], len(packed), axis=0)
        held[:, : packed.shape[1]] |= packed
        return held

    def bits(self, packed: Packed) -> BoolArray:
        """`[L, F]` whether each fluent holds."""
        return unpack(self.words(packed), len(self.names))

    def texts(self, packed: Packed) -> list[tuple[str, ...]]:
        """The fluents that hold in each state, sorted."""
        return [
            tuple(sorted(self.names[f] for f in np.flatnonzero(lane))) for lane in self.bits(packed)
        ]

    def of_bits(self, bits: BoolArray) -> Packed:
        """The states in which these hold, given as by `bits`."""
        return pack_rows(bits[:, : self._num_packed])

    def of_texts(self, texts: Sequence[tuple[str, ...]]) -> Packed:
        """The same, given as by `texts`.

        Raises:
            MachineError: a text is no fluent of the circuit.
        """
        bits = np.zeros((len(texts), len(self.names)), dtype=np.bool_)
        for lane, fluents in enumerate(texts):
            try:
                bits[lane, [self._place[fluent] for fluent in fluents]] = True
            except KeyError as error:
                raise MachineError(f"{error.args[0]} can never hold by these rules") from None
        return self.of_bits(bits)

    @made_once
    def _place(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}
