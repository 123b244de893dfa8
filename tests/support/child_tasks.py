"""Tasks for child processes that behave, and that do not."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time

from ggp.errors import MachineError
from ggp.gdl.program import Program
from ggp.machine.propnet.ground import ground


def grounded(program: Program) -> bytes:
    """The ground program, pickled."""
    return pickle.dumps(ground(program))
