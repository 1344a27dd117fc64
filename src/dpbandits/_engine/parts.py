"""Kernels that are only parts of others: typed and kept as LLVM code, never as machine code.

Numba turns every function into machine code, also one that is never called from Python, and fully
optimises it before it is linked into its callers, which are then fully optimised in turn. Here only
the functions called from Python are: the arithmetic is the same, and compiling takes three quarters
of the time.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.environment import lookup_environment

__all__ = ["CompilerOfParts", "CompilerOfWholes", "PartsOnDisk"]


class _Codegen:
    """Numba's code generator, without a slot for the environment of a part."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, *_: Any) -> None:
        """Do nothing: the whole finds its parts' environments by name."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class _Part(JITCodeLibrary):
    """A library that is linked into others, and not run itself."""

    @property
    def codegen(self) -> Any:
        return _Codegen(self._codegen)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def serialize_using_object_code(self) -> Any:
        return self.name, "part", self._get_module_for_linking().as_bitcode()

    @classmethod
    def read(cls, codegen: Any, kept: Any) -> _Part:
        """Return the cached part."""
        name, _, bitcode = kept
        part = cls(codegen, name)
        part._final_module = part._shared_module = llvm.parse_bitcode(bitcode)
        part._finalize_final_module()
        return part


class _Whole(JITCodeLibrary):
    """A library called from Python, with the environments of the parts linked into it."""

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    codegen: Any = self._codegen
                    codegen.set_env(variable.name, environment)


class CompilerOfParts(Compiler):
    """Numba's compiler, for functions that only other kernels call."""

    def compile_extra(self, function: Any) -> Any:
        """Compile into a part."""
        self.state.library = _Part(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class CompilerOfWholes(Compiler):
    """Numba's compiler, for functions that Python calls."""

    def compile_extra(self, function: Any) -> Any:
        """Compile into a library that is kept as machine code."""
        self.state.library = _Whole(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class PartsOnDisk(CompileResultCacheImpl):
    """The form of a part in Numba's cache."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the part as Numba's compiler returned it."""
        kept, described, environment, signature, objectmode, lifted, notes, again, others = payload
        for function in again:
            function()
        library = _Part.read(target_context.codegen(), kept)
        made: Any = CompileResult  # type checkers do not see its fields
        return made(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, described, environment),
            fndesc=described,
            type_annotation=notes,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=again,
            referenced_envs=others,
        )
