"""Kinds of players, by how they see what is hidden and how far they look.

Players that search state their kinds (`KINDS` of their class), so that advice need not name them.
"""

from __future__ import annotations

CLAIRVOYANT = "clairvoyant"
"""Solves worlds as if everybody saw them."""

INFORMED = "informed"
"""Lets every role move by what that role would know."""

SIMULATIONS = "simulations"
"""Plays few, slow simulations instead of many quick playouts."""

TREES = "trees"
"""Searches more than one turn deep, and remembers what it found."""
