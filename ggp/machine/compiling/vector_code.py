"""Generates LLVM's vector instructions for the operations of `vectors` in kernels.

Each function below gives numba the types of an operation, and the generator of its instructions.
`jit` imports this module before the first kernel is compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from ggp.machine.compiling import vectors

_Function = Callable[..., Any]

_WORD = ir.IntType(64)
_I32 = ir.IntType(32)
_BYTE = ir.IntType(8)


def _meaning_of(
    operation: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for a function from the types of arguments to an operation's signature and code
    generator."""

    def register(define: _Function) -> _Function:
        @type_callable(operation)
        def typing(context: Any) -> Any:
            def signature_of(*args: Any) -> Any:
                return define(*args)[0]

            signature_of.__signature__ = inspect.signature(define)  # type: ignore[attr-defined]
            return signature_of

        @lower_builtin(operation, types.VarArg(types.Any))
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return define(*signature.args)[1](context, builder, signature, args)

        return define

    return register


def _function(module: Any, kind: Any, name: str) -> Any:
    """An intrinsic function of LLVM."""
    return cgutils.get_or_insert_function(module, kind, name)


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
        super().__init__(manager, vector, vector.llvm)


class Floats(types.Type):
    """The numba type of a vector of floats."""

    llvm = ir.VectorType(ir.FloatType(), vectors.FLOATS)

    def __init__(self) -> None:
        super().__init__(name=f"Floats({vectors.FLOATS})")


@register_model(Floats)
class _FloatsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, floats: Floats) -> None:
        super().__init__(manager, floats, floats.llvm)


def _address(context: Any, builder: Any, vector: ir.VectorType, array_type: Any, args: Any) -> Any:
    array = context.make_array(array_type)(context, builder, args[0])
    pointer = builder.gep(array.data, [args[1]])
    return builder.bitcast(pointer, vector.as_pointer())


@_meaning_of(vectors.load)
def _load(array: Any, index: Any, width: Any) -> Any:
    vector = Vector(max(1, vectors.WORDS_PER_ITEM * len(width)))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, vector.llvm, signature.args[0], args)
        return builder.load(pointer, align=8)

    return vector(array, types.int64, width), generate


@_meaning_of(vectors.store)
def _store(array: Any, index: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, vector.llvm, signature.args[0], args)
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@_meaning_of(vectors.item)
def _item(array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        number = builder.load(builder.gep(view.data, [args[1]]))
        return builder.sext(number, _WORD) if array.dtype == types.int32 else number

    wide = types.int64 if array.dtype == types.int32 else array.dtype
    return wide(array, types.int64), generate


@_meaning_of(vectors.out_of_line)
def _out_of_line() -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def _binary(operation: _Function, build: Callable[[Any, Any, Any], Any]) -> None:
    @_meaning_of(operation)
    def _(a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, *args)

        return a(a, b), generate


_binary(vectors.band, lambda b, x, y: b.and_(x, y))
_binary(vectors.bor, lambda b, x, y: b.or_(x, y))
_binary(vectors.bxor, lambda b, x, y: b.xor(x, y))
_binary(vectors.but_not, lambda b, x, y: b.and_(x, b.not_(y)))
_binary(vectors.plus, lambda b, x, y: b.add(x, y))


def _splat(builder: Any, vector: ir.VectorType, word: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, word, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


@_meaning_of(vectors.splat)
def _splat_word(word: Any, width: Any) -> Any:
    vector = Vector(max(1, vectors.WORDS_PER_ITEM * len(width)))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, vector.llvm, args[0])

    return vector(types.uint64, width), generate


@_meaning_of(vectors.shift_left)
def _shift_left(a: Any, by: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.shl(args[0], _splat(builder, a.llvm, args[1]))

    return a(a, types.uint64), generate


@_meaning_of(vectors.shift_right)
def _shift_right(a: Any, by: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.lshr(args[0], _splat(builder, a.llvm, args[1]))

    return a(a, types.uint64), generate


@_meaning_of(vectors.reduce_or)
def _reduce_or(a: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_WORD, [a.llvm])
        name = f"llvm.vector.reduce.or.v{a.words}i64"
        return builder.call(_function(builder.module, kind, name), args)

    return types.uint64(a), generate


@_meaning_of(vectors.count_all)
def _count_all(a: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ones = _function(
            builder.module, ir.FunctionType(a.llvm, [a.llvm]), f"llvm.ctpop.v{a.words}i64"
        )
        total = _function(
            builder.module,
            ir.FunctionType(_WORD, [a.llvm]),
            f"llvm.vector.reduce.add.v{a.words}i64",
        )
        return builder.call(total, [builder.call(ones, args)])

    return types.int64(a), generate


def _bit_count(operation: _Function, name: str, *flags: Any) -> None:
    @_meaning_of(operation)
    def _(word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(_WORD, [_WORD, *(flag.type for flag in flags)])
            function = _function(builder.module, kind, f"llvm.{name}.i64")
            return builder.call(function, [*args, *flags])

        return types.int64(types.uint64), generate


_bit_count(vectors.count_ones, "ctpop")
_bit_count(vectors.leading_zeros, "ctlz", ir.Constant(ir.IntType(1), 0))
_bit_count(vectors.lowest_one, "cttz", ir.Constant(ir.IntType(1), 0))


@_meaning_of(vectors.where_equal)
def _where_equal(array: Any, index: Any, value: Any) -> Any:
    numbers = ir.VectorType(_I32, 64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, numbers, signature.args[0], args)
        values = _splat(builder, numbers, builder.trunc(args[2], _I32))
        equal = builder.icmp_signed("==", builder.load(pointer, align=4), values)
        return builder.bitcast(equal, _WORD)

    return types.uint64(array, types.int64, types.int64), generate


@_meaning_of(vectors.add_where)
def _add_where(array: Any, index: Any, word: Any, number: Any) -> Any:
    numbers = ir.VectorType(_BYTE, 64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, numbers, signature.args[0], args)
        chosen = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        addend = _splat(builder, numbers, builder.trunc(args[3], _BYTE))
        addend = builder.select(chosen, addend, ir.Constant(numbers, [0] * 64))
        builder.store(builder.add(builder.load(pointer, align=1), addend), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64, types.int64), generate


@_meaning_of(vectors.spread_bits)
def _spread_bits(array: Any, index: Any, word: Any) -> Any:
    numbers = ir.VectorType(_BYTE, 32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, numbers, signature.args[0], args)
        bits = builder.bitcast(builder.trunc(args[2], _I32), ir.VectorType(ir.IntType(1), 32))
        builder.store(builder.zext(bits, numbers), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@_meaning_of(vectors.load_floats)
def _load_floats(array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, Floats.llvm, signature.args[0], args)
        return builder.load(pointer, align=4)

    return Floats()(array, types.int64), generate


@_meaning_of(vectors.store_floats)
def _store_floats(array: Any, index: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, Floats.llvm, signature.args[0], args)
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@_meaning_of(vectors.plus_times)
def _plus_times(a: Any, b: Any, factor: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        floats, kind = Floats(), ir.FunctionType(Floats.llvm, [Floats.llvm] * 3)
        name = f"llvm.fmuladd.v{vectors.FLOATS}f32"
        factors = _splat(builder, floats.llvm, args[2])
        return builder.call(_function(builder.module, kind, name), [args[1], factors, args[0]])

    return a(a, b, types.float32), generate
