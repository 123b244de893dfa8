"""Compiles kernels with numba in half the usual time, without making them slower.

By default, numba optimises each function and generates machine code for it, then links the function
into every caller and repeats the work there, up to the kernel. But our helper functions, the
*parts*, are only called from kernels. So here a part is only translated to LLVM's intermediate
code. A kernel is linked with all its parts, optimised once, and machine code is generated once.

Three more things save time: all kernels share the translated parts; there is no reference counting,
which is needed only for allocation; and a named tuple of arrays is passed as a single pointer (see
the end of the module).
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
from llvmlite import ir
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils, compiler
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NoPythonBackend
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import Purpose
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

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}

_LEVEL = 2
"""LLVM's level of optimisation. At level 3, numba's default, compiling takes about 6 % longer,
and kernels are no faster."""

_ENVIRONMENT = "_ZN08NumbaEnv"
"""Prefix of numba's names for the Python environments of compiled functions."""

_RECORD_NAME = re.compile(r"arg\.\w+")
"""LLVM's name of an argument that is one value, as a record is; an array is several arguments,
`arg.name.0`, `arg.name.1`, ..."""

_UNNEEDED = {"nopython_rewrites", "inline_closure_likes"}
"""Passes of numba that take time but change nothing in kernels: they are for expressions on whole
arrays, and for nested functions. A function that has nested ones keeps them."""


_keeps_sources = False


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel that is compiled when it is first called."""
    return numba.njit(pipeline_class=_KernelCompiler, **_OPTIONS)(function)


def keep_sources() -> None:
    """Keep what kernels are made from, from now on, to compile it for other processors too."""
    global _keeps_sources
    _keeps_sources = True


def register_part(function: Callable[..., Any]) -> None:
    """Make a function a part, so that kernels can call it."""
    register_jitable(no_cpython_wrapper=True, pipeline_class=_PartCompiler, **_OPTIONS)(function)


def register_record(kind: type) -> None:
    """Pass a class of named tuples to kernels as one pointer."""
    typeof_impl.register(kind)(type_of_record)


class _Library(JITCodeLibrary):
    """A library of LLVM code that is not yet optimised."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            for argument in function.args:
                if argument.type == ADDRESS and _RECORD_NAME.fullmatch(argument.name):
                    # Nothing writes to records. Without this attribute, their fields would be read
                    # again after every write to an array.
                    argument.add_attribute("noalias")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class _PartLibrary(_Library):
    """A part of kernels, as LLVM code."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                # Several kernels may contain this function; a kernel that inlines it can drop it.
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        return self._final_module


class _KernelLibrary(_Library):
    """A kernel with its parts."""

    _source = b""
    """LLVM's code before it is optimised, if it is kept."""

    _foreign = b""
    """Machine code for another processor, while it is stored."""

    @contextmanager
    def compiled_for(self, processor: str) -> Iterator[None]:
        """Within this context, what is stored is code for another processor, if one is named.

        Its translation from Python, which takes most of the time to compile, is not repeated.

        Args:
            processor: LLVM's name; empty for the one that we run on.
        """
        if processor:
            codegen = _codegen_for(processor)
            module = llvm.parse_bitcode(self._source)
            _optimise(module, codegen)
            self._foreign = codegen._tm.emit_object(module)
        try:
            yield
        finally:
            self._foreign = b""

    def _get_compiled_object(self) -> Any:
        return self._foreign or super()._get_compiled_object()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr and not function.is_declaration:
                # Only this kernel calls these copies, so LLVM may drop unused arguments.
                function.linkage = "internal"
        if _keeps_sources:
            self._source = self._final_module.as_bitcode()
        _optimise(self._final_module, self._codegen)

    def finalize(self) -> None:
        self._linking_libraries = list(dict.fromkeys(_all_of(self._linking_libraries)))
        super().finalize()

    def serialize_using_object_code(self) -> Any:
        # numba adds the LLVM code, for functions that call this one, and reads the names of all its
        # symbols when it loads it, which takes half the time. Only names of entries are needed.
        name, kind, (machine_code, _) = super().serialize_using_object_code()
        entries = [
            function.name
            for function in self._final_module.functions
            if not function.is_declaration and function.linkage == llvm.Linkage.external
        ]
        stubs = "".join(f'define void @"{entry}"() {{ ret void }}\n' for entry in entries)
        return name, kind, (machine_code, llvm.parse_assembly(stubs).as_bitcode())


def _optimise(module: Any, codegen: Any) -> None:
    manager = codegen._module_pass_manager(opt=_LEVEL)
    # Newer versions of numba return a builder as well.
    passes, *builder = manager if isinstance(manager, tuple) else (manager,)
    passes.run(module, *builder)


@cache
def _codegen_for(processor: str) -> Any:
    """What generates code for another processor of this kind, with all that its name stands for."""
    config: Any = numba.config
    usual = config.CPU_NAME, config.CPU_FEATURES
    config.CPU_NAME, config.CPU_FEATURES = processor, ""
    try:
        return JITCPUCodegen(f"numba.exec.{processor}")
    finally:
        config.CPU_NAME, config.CPU_FEATURES = usual


def _all_of(libraries: list[Any]) -> Iterator[Any]:
    """Yield libraries and their dependencies; numba's own libraries contain theirs already."""
    for library in libraries:
        yield library
        if isinstance(library, _PartLibrary):
            yield from _all_of(library._linking_libraries)


@contextmanager
def _gc_suspended() -> Iterator[None]:
    """Suspend Python's garbage collection, which takes a seventh of the compile time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _BaseCompiler(compiler.CompilerBase):
    """The compiler passes of both kernels and parts."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        code: CodeType = self.state.func_id.code
        if not any(isinstance(constant, CodeType) for constant in code.co_consts):
            steps = [step for step in passes.passes if step[0]._name not in _UNNEEDED]
            passes.passes = steps
        return [passes]

    def _compile_core(self) -> Any:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        # numba compiles a called function again for each distinct set of its callers' options.
        # Kernels and parts differ only in `no_cpython_wrapper`, which makes no difference to the
        # functions they call.
        seen: Any = _SteadyFlags(state.flags)
        seen.no_cpython_wrapper = True
        (passes,) = self.define_pipelines()
        passes.finalize()
        with ConfigStack().enter(seen):
            passes.run(state)
        state.pipeline = None
        return state.cr


class _SteadyFlags(compiler.Flags):
    """Options that no longer change, with a cached hash: numba hashes them for every function call
    that it compiles."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:
        value: int | None = getattr(self, "_hash", None)
        if value is None:
            value = self._hash = super().__hash__()
        return value


class _KernelCompiler(_BaseCompiler):
    library = _KernelLibrary

    def __init__(self, *args: Any) -> None:
        with _gc_suspended():
            super().__init__(*args)

    def _compile_core(self) -> Any:
        with _gc_suspended():
            code = super()._compile_core()
        # Parts were never loaded, so their environments are not set yet.
        for variable in code.library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    code.library.codegen.set_env(variable.name, environment)
        return code


class _PartCompiler(_BaseCompiler):
    library = _PartLibrary

    def define_pipelines(self) -> list[Any]:
        # No machine code is made from a part.
        self.state.flags = self.state.flags.copy()
        self.state.flags.no_compile = True
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_Entry, NoPythonBackend)
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _Entry(LoweringPass):
    """Gives a part the entry point that numba expects, of which only the name is used."""

    _name = "ggp_entry"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        code = state.cr
        desc = code.fndesc
        name = desc.qualname.rpartition(".")[2]
        needs = (state.library,)
        entry = _dynfunc.make_function(desc.lookup_module(), name, "", 0, code.environment, needs)
        state.targetctx.insert_user_function(entry, desc, [state.library])
        state.cr = code._replace(entry_point=entry)
        return True


__all__ = ["Part", "compiled", "keep_sources", "register_part", "register_record"]


# ------------------------------------------------------------------------
# Parts that are arguments of kernels.


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


# ------------------------------------------------------------------------
# Named tuples of arrays that kernels take as one pointer.
#
# numba passes a tuple field by field, and an array is seven values. So a tuple of thirty arrays
# would be two hundred arguments of every function that takes it: most of the code to compile.
# Instead, a kernel unpacks the tuple once into a struct, and passes its address:
#
# (Tape(rows, 7), 5) -> [ array of rows | 7 | 5 ] -> a pointer
#
# The struct borrows the arrays: the caller keeps the tuple alive while the kernel runs.

ADDRESS = ir.IntType(8).as_pointer()
"""LLVM's type of a record in a kernel."""


class Record(types.Type):
    """The numba type of a class of named tuples, with the types of its fields.

    It keeps no reference to the class: the cache pickles types, and must not import the modules of
    all that a kernel was ever called with.
    """

    def __init__(self, kind: Any, fields: tuple[Any, ...]) -> None:
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
    """The numba type of a named tuple."""
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
