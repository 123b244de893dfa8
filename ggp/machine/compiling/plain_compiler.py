"""Compiles kernels with numba's own `njit`, for versions that `kernel_compiler` does not support.

The code gives the same results. Compiling takes longer, because every part is compiled separately,
and again into every function that calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core.registry import cpu_target
from numba.core.typing.typeof import Purpose
from numba.extending import (
    NativeValue,
    models,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that is compiled when it is called."""
    return numba.njit(**OPTIONS)(function)


def register_part(function: Callable[..., Any]) -> None:
    """Let kernels call a function."""
    register_jitable(**OPTIONS)(function)


def register_record(kind: type) -> None:
    """Let kernels take a class of named tuples; nothing to do, as numba passes its fields."""


class Part(types.Callable, types.Opaque):
    """The type of a part that is an argument of kernels.

    Each part has its own type, so a kernel is compiled for the parts that it is called with.

    Args:
        module, name: where the function is. The cache pickles types, to find machine code in other
            processes; these import the module only if they compile a call of the function.
    """

    def __init__(self, module: str, name: str) -> None:
        self.place = module, name
        super().__init__(f"{module}.{name}")

    def __reduce__(self) -> Any:
        return Part, self.place

    @property
    def is_imported(self) -> bool:
        """Whether this process can call kernels with the function."""
        return self.place[0] in sys.modules

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        return self._resolved(context).get_call_type(context, args, kws)

    def get_call_signatures(self) -> Any:
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        return self._resolved(cpu_target.typing_context).get_impl_key(sig)

    def _resolved(self, context: Any) -> Any:
        """The type of the function when it is called by name."""
        module, name = self.place
        return context.resolve_value_type(getattr(import_module(module), name))


register_model(Part)(models.OpaqueModel)


@typeof_impl.register(FunctionType)
def _type_of_part(value: Callable[..., Any], context: Any) -> Part | None:
    return (
        Part(value.__module__, value.__qualname__) if context.purpose is Purpose.argument else None
    )


@unbox(Part)
def _unbox_part(part: Part, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.context.get_dummy_value())
