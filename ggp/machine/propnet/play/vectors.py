"""Vectors of 64-bit words for numba kernels, as packed instructions whatever LLVM would infer.

A kernel takes a `width`: a tuple of n zeros stands for vectors of `8 * n` words, so that one
source compiles to any width and numba's cache tells them apart. LLVM splits a vector into as
many registers as the processor needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_jitable, register_model

_WORD = ir.IntType(64)
_I32 = ir.IntType(32)

WIDTH = (0, 0)
"""16 words: 1,024 lanes side by side. Twice as many are up to a sixth faster in long runs of
playouts, half as many up to a third in single ones; two widths take twice as long to compile."""

WORDS_PER_ITEM = 8


def _function(module: Any, kind: Any, name: str) -> Any:
    """A function of LLVM's."""
    return cgutils.get_or_insert_function(module, kind, name)  # type: ignore[no-untyped-call]


def _intrinsic(function: Callable[..., Any]) -> Any:
    """numba's `intrinsic`, called without the typing context its function takes first."""
    return intrinsic(function)


class Vector(types.Type):
    """The numba type of a vector of words."""

    def __init__(self, words: int) -> None:
        self.words = words
        super().__init__(name=f"Vector({words})")

    @property
    def llvm(self) -> ir.VectorType:
        return ir.VectorType(_WORD, self.words)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, vector.llvm)  # type: ignore[no-untyped-call]


@register_jitable
def words_of(width: tuple[int, ...]) -> int:
    """Words in a vector of this width; usable in kernels."""
    return WORDS_PER_ITEM * len(width)


def _address(context: Any, builder: Any, vector: Vector, array_type: Any, args: Any) -> Any:
    array = context.make_array(array_type)(context, builder, args[0])
    pointer = builder.gep(array.data, [args[1]])
    return builder.bitcast(pointer, vector.llvm.as_pointer())


@_intrinsic
def load(typing: Any, array: Any, index: Any, width: Any) -> Any:
    """The vector at `array[index]`."""
    vector = Vector(WORDS_PER_ITEM * len(width))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, vector, signature.args[0], args)
        return builder.load(pointer, align=8)

    return vector(array, types.int64, width), generate


@_intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write a vector to `array[index]`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, vector, signature.args[0], args)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@_intrinsic
def out_of_line(typing: Any) -> Any:
    """Keeps the function it is called in from being inlined: kernels compile faster."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def _binary(build: Callable[[Any, Any, Any], Any], doc: str) -> Any:
    def operation(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, *args)

        return a(a, b), generate

    operation.__doc__ = doc
    return _intrinsic(operation)


band = _binary(lambda b, x, y: b.and_(x, y), "x & y")
bor = _binary(lambda b, x, y: b.or_(x, y), "x | y")
bxor = _binary(lambda b, x, y: b.xor(x, y), "x ^ y")
but_not = _binary(lambda b, x, y: b.and_(x, b.not_(y)), "x & ~y")
plus = _binary(lambda b, x, y: b.add(x, y), "x + y, modulo 2**64 in each word")


def _splat(builder: Any, vector: Vector, word: Any) -> Any:
    undefined = ir.Constant(vector.llvm, ir.Undefined)
    first = builder.insert_element(undefined, word, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.words), [0] * vector.words)
    return builder.shuffle_vector(first, undefined, zeros)


@_intrinsic
def splat(typing: Any, word: Any, width: Any) -> Any:
    """The vector with this word everywhere."""
    vector = Vector(WORDS_PER_ITEM * len(width))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, vector, args[0])

    return vector(types.uint64, width), generate


@_intrinsic
def shift_left(typing: Any, a: Any, by: Any) -> Any:
    """Every word shifted left."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.shl(args[0], _splat(builder, a, args[1]))

    return a(a, types.uint64), generate


@_intrinsic
def shift_right(typing: Any, a: Any, by: Any) -> Any:
    """Every word shifted right."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.lshr(args[0], _splat(builder, a, args[1]))

    return a(a, types.uint64), generate


def _reduction(name: str, doc: str) -> Any:
    def operation(typing: Any, a: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            intrinsic_type = ir.FunctionType(_WORD, [a.llvm])
            function = _function(
                builder.module, intrinsic_type, f"llvm.vector.reduce.{name}.v{a.words}i64"
            )
            return builder.call(function, args)

        return types.uint64(a), generate

    operation.__doc__ = doc
    return _intrinsic(operation)


reduce_or = _reduction("or", "The words of a vector, all or-ed together.")


def _bit_count(name: str, doc: str, *, flag: bool) -> Any:
    def operation(typing: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            params = [_WORD, ir.IntType(1)] if flag else [_WORD]
            function = _function(builder.module, ir.FunctionType(_WORD, params), f"llvm.{name}.i64")
            extra = [ir.Constant(ir.IntType(1), 0)] if flag else []
            return builder.call(function, [*args, *extra])

        return types.int64(types.uint64), generate

    operation.__doc__ = doc
    return _intrinsic(operation)


count_ones = _bit_count("ctpop", "Number of bits that are set.", flag=False)
lowest_one = _bit_count("cttz", "Index of the lowest bit that is set; 64 if none.", flag=True)

__all__ = [
    "WIDTH",
    "band",
    "bor",
    "but_not",
    "bxor",
    "count_ones",
    "load",
    "lowest_one",
    "out_of_line",
    "plus",
    "reduce_or",
    "shift_left",
    "shift_right",
    "splat",
    "store",
    "words_of",
]
