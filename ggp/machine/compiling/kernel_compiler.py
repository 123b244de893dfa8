"""Compiles kernels with numba: each part once, and all of a kernel together.

numba on its own optimises every function and makes machine code of it, links that into those that
call it, and does it all again there, up to the kernel. Only kernels call our parts. So a part is
merely translated to LLVM's language. A kernel is linked with all its parts, optimised in one
go and made machine code once. That takes half the time, and the code is no slower.

Compiling is also quick because parts are shared by all kernels; because kernels count no
references, which only allocating needs; and because named tuples of arrays are one pointer
(`records`).
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
from llvmlite import ir
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils, compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NoPythonBackend
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

from ggp.machine.compiling.plain_compiler import OPTIONS

_OPTIONS: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True, "_nrt": False}

_LEVEL = 2
"""LLVM's level of optimisation. At 3, which numba uses, compiling takes a sixteenth longer, and the
kernels are no faster."""

_ENVIRONMENT = "_ZN08NumbaEnv"
"""Beginning of numba's names for what compiled functions know of Python."""

_RECORD_NAME = re.compile(r"arg\.\w+")
"""An argument that is one value; the parts of an array are `arg.name.0`, `arg.name.1`, ..."""

_UNNEEDED = {"nopython_rewrites", "inline_closure_likes"}
"""Passes of numba that change nothing in kernels, but take time: for expressions of whole
arrays, and for functions within functions."""


def compiled(function: Callable[..., Any], *, cache: bool) -> Any:
    """A kernel that is compiled when it is called.

    Raises:
        RuntimeError: there is no place for the cache.
    """
    return numba.njit(cache=cache, pipeline_class=_KernelCompiler, **_OPTIONS)(function)


def register_part(function: Callable[..., Any]) -> None:
    """Let kernels call a function."""
    register_jitable(no_cpython_wrapper=True, pipeline_class=_PartCompiler, **_OPTIONS)(function)


def register_record(kind: type) -> None:
    """Hand a class of named tuples to kernels as one pointer."""
    typeof_impl.register(kind)(type_of_record)


class _Library(JITCodeLibrary):
    """A library that is translated, but not optimised yet."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            for argument in function.args:
                if argument.type == ADDRESS and _RECORD_NAME.fullmatch(argument.name):
                    # Nothing writes to records. Without this, their fields would be read again
                    # after every write to an array.
                    argument.add_attribute("noalias")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class _PartLibrary(_Library):
    """A part of kernels in LLVM's language, as it was translated."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                # Several kernels may hold it, and those that have inlined it can drop it.
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        return self._final_module


class _KernelLibrary(_Library):
    """A kernel with its parts."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr and not function.is_declaration:
                # These copies are called from here only: unused arguments need not be passed.
                function.linkage = "internal"
        made = self._codegen._module_pass_manager(opt=_LEVEL)
        # Newer versions of numba pass a builder as well.
        passes, *builder = made if isinstance(made, tuple) else (made,)
        passes.run(self._final_module, *builder)

    def finalize(self) -> None:
        self._linking_libraries = list(dict.fromkeys(_all_of(self._linking_libraries)))
        super().finalize()


def _all_of(libraries: list[Any]) -> Iterator[Any]:
    """Libraries and those that they need; numba's own libraries contain what they need."""
    for library in libraries:
        yield library
        if isinstance(library, _PartLibrary):
            yield from _all_of(library._linking_libraries)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Suspend Python's garbage collection, which takes a seventh of compiling."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class _OurCompiler(compiler.CompilerBase):
    """The compiler passes that kernels and parts have in common."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        code: CodeType = self.state.func_id.code
        if not any(isinstance(constant, CodeType) for constant in code.co_consts):
            kept = [each for each in passes.passes if each[0]._name not in _UNNEEDED]
            passes.passes = kept
        return [passes]

    def _compile_core(self) -> Any:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        # numba compiles a called function anew for each set of options of the caller. Kernels
        # have the options of parts except this one, which says nothing about what they call.
        seen: Any = _SteadyFlags(state.flags)
        seen.no_cpython_wrapper = True
        (passes,) = self.define_pipelines()
        passes.finalize()
        with ConfigStack().enter(seen):
            passes.run(state)
        state.pipeline = None
        return state.cr


class _SteadyFlags(compiler.Flags):
    """Options that no longer change. numba hashes them for every call that it looks into."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:
        found: int | None = getattr(self, "_hash", None)
        if found is None:
            found = self._hash = super().__hash__()
        return found


class _KernelCompiler(_OurCompiler):
    library = _KernelLibrary

    def __init__(self, *args: Any) -> None:
        with _uncollected():
            super().__init__(*args)

    def _compile_core(self) -> Any:
        with _uncollected():
            made = super()._compile_core()
        # Parts were not loaded, so they have not got their environments.
        for variable in made.library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    made.library.codegen.set_env(variable.name, environment)
        return made


class _PartCompiler(_OurCompiler):
    library = _PartLibrary

    def define_pipelines(self) -> list[Any]:
        # No machine code is made from it.
        self.state.flags = self.state.flags.copy()
        self.state.flags.no_compile = True
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_Entry, NoPythonBackend)
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _Entry(LoweringPass):
    """Gives a part the entry that numba expects of a function, of which only the name is used."""

    _name = "ggp_entry"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        made = state.cr
        about = made.fndesc
        name = about.qualname.rpartition(".")[2]
        held = (state.library,)
        entry = _dynfunc.make_function(about.lookup_module(), name, "", 0, made.environment, held)
        state.targetctx.insert_user_function(entry, about, [state.library])
        state.cr = made._replace(entry_point=entry)
        return True


__all__ = ["compiled", "register_part", "register_record"]


# ------------------------------------------------------------------------
# Named tuples of arrays that kernels take as one pointer.
#
# numba hands a tuple over field by field, and an array is seven values. So a plan of thirty arrays
# would be two hundred arguments of every function that is called with it: most of what had to be
# compiled. Instead, a kernel unpacks the tuple once into a struct, and hands on its address:
#
# (Tape(rows, 7), 5) -> [ array of rows | 7 | 5 ] -> a pointer
#
# The struct borrows the arrays: the caller holds the tuple as long as the kernel runs.

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
