"""Named tuples of arrays that kernels take as one pointer.

numba hands a tuple over field by field, and an array is seven values. So a plan of thirty arrays
would be two hundred arguments of every function that is called with it: most of what had to be
compiled. Instead, a kernel unpacks the tuple once into a struct, and hands on its address:

    (Tape(rows, 7), 5)    ->    [ array of rows | 7 | 5 ]    ->    a pointer

The struct borrows the arrays: the caller holds the tuple as long as the kernel runs.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

ADDRESS = ir.IntType(8).as_pointer()
"""LLVM's type of a record in a kernel."""


class Record(types.Type):
    """The numba type of a tuple of this kind, with fields of these types."""

    def __init__(self, kind: Any, fields: tuple[Any, ...]) -> None:
        self.kind = kind
        self.fields = fields
        self.numbers = {name: i for i, name in enumerate(kind._fields)}
        parts = ", ".join(map(str, fields))
        super().__init__(name=f"{kind.__module__}.{kind.__name__}({parts})")

    def struct(self, context: Any) -> ir.LiteralStructType:
        return ir.LiteralStructType(
            [
                field.struct(context)
                if isinstance(field, Record)
                else context.get_value_type(field)
                for field in self.fields
            ]
        )


@register_model(Record)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, record: Record) -> None:
        super().__init__(manager, record, ADDRESS)


def type_of_record(value: Any, context: Any) -> Record:
    """The type of a tuple, as numba asks for it."""
    return Record(type(value), tuple(typeof_impl(item, context) for item in value))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Record

    def generic_resolve(self, record: Record, name: str) -> Any:  # type: ignore[override]
        number = record.numbers.get(name)
        return None if number is None else record.fields[number]


def _field(context: Any, builder: Any, record: Record, pointer: Any, number: int) -> Any:
    struct = builder.bitcast(pointer, record.struct(context).as_pointer())
    return cgutils.gep_inbounds(builder, struct, 0, number)


@lower_getattr_generic(Record)
def _get(context: Any, builder: Any, record: Record, pointer: Any, name: str) -> Any:
    number = record.numbers[name]
    kind = record.fields[number]
    place = _field(context, builder, record, pointer, number)
    if isinstance(kind, Record):
        return builder.bitcast(place, ADDRESS)
    return builder.load(place)


@unbox(Record)
def _unbox(record: Record, obj: Any, c: Any) -> Any:
    place = cgutils.alloca_once(c.builder, record.struct(c.context), zfill=True)
    pointer = c.builder.bitcast(place, ADDRESS)
    failed = _fill(record, obj, pointer, c, cgutils.false_bit)
    return NativeValue(pointer, is_error=failed)


def _fill(record: Record, obj: Any, pointer: Any, c: Any, failed: Any) -> Any:
    builder = c.builder
    for number, kind in enumerate(record.fields):
        item = c.pyapi.tuple_getitem(obj, number)
        place = _field(c.context, builder, record, pointer, number)
        if isinstance(kind, Record):
            failed = _fill(kind, item, builder.bitcast(place, ADDRESS), c, failed)
        elif isinstance(kind, types.Array):
            signature = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, ADDRESS])
            adapt = cgutils.get_or_insert_function(builder.module, signature, "numba_adapt_ndarray")
            error = builder.call(adapt, (item, builder.bitcast(place, ADDRESS)))
            failed = builder.or_(failed, cgutils.is_not_null(builder, error))
        else:
            native = c.unbox(kind, item)
            builder.store(native.value, place)
            failed = builder.or_(failed, native.is_error)
    return failed
