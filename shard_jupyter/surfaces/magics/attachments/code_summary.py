"""Describes functions and classes without calling them or looking anything up on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from shard_jupyter.surfaces.magics.attachments.plain_values import MAX_TEXT_CHARS, Writer, ids_of
from shard_jupyter.surfaces.magics.attachments.real_types import (
    bases_of,
    is_class,
    own_names,
    type_name,
)

MAX_FIELDS = 60
_FIELD_TABLES = ("__dataclass_fields__", "__pydantic_fields__", "__annotations__")


def summarize_code(value: object, writer: Writer) -> str | None:
    """Describe a function, method, class or module; None for anything else."""
    if is_class(value):
        return _summarize_class(value, writer)  # type: ignore[arg-type] # it is a class
    describe = _DESCRIBERS.get(id(type(value)))
    return describe(value, writer) if describe is not None else None


def _summarize_function(value: FunctionType, writer: Writer) -> str:
    code = value.__code__
    kind = "async def" if code.co_flags & inspect.CO_COROUTINE else "def"
    signature = f"{kind} {value.__qualname__}({', '.join(_parameters(value, code, writer))})"
    return "\n".join([signature, *_first_line(value.__doc__)])


def _parameters(function: FunctionType, code: CodeType, writer: Writer) -> Iterator[str]:
    """Yield the parameters with defaults, from the code object: annotations could be code to run."""
    names = iter(code.co_varnames)
    positional = [next(names) for _ in range(code.co_argcount)]
    keywords = [next(names) for _ in range(code.co_kwonlyargcount)]
    defaults = function.__defaults__ or ()
    values = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    for index, name in enumerate(positional, 1):
        yield _parameter(name, values, writer)
        if index == code.co_posonlyargcount:
            yield "/"
    if code.co_flags & inspect.CO_VARARGS:
        yield f"*{next(names)}"
    elif keywords:
        yield "*"
    for name in keywords:
        yield _parameter(name, function.__kwdefaults__ or {}, writer)
    if code.co_flags & inspect.CO_VARKEYWORDS:
        yield f"**{next(names)}"


def _parameter(name: str, defaults: Mapping[str, object], writer: Writer) -> str:
    if name not in defaults:
        return name
    writer.note_secret(name, defaults[name])
    return f"{name}={writer.write(defaults[name])}"


def _summarize_class(value: type, writer: Writer) -> str:
    bases = [type_name(base) for base in bases_of(value)[1:]]
    lines = [f"class {type_name(value)}" + (f"({', '.join(bases)})" if bases else "")]
    lines += _first_line(own_names(value).get("__doc__"))
    fields: dict[str, str] = {}
    for base in reversed(bases_of(value)):
        for name, field in _fields(own_names(base), writer).items():
            # A table lists what is inherited too, without its type.
            fields[name] = field if field != name else fields.get(name, field)
    shown = list(fields.values())[:MAX_FIELDS]
    lines += [f"field {field}" for field in shown]
    lines += [f"… {len(fields) - MAX_FIELDS:,} more fields"] if len(fields) > MAX_FIELDS else []
    return "\n".join(lines)


def _fields(names: Mapping[str, Any], writer: Writer) -> dict[str, str]:
    """Fields that the class declares: `name`, `name: type` and `name = value` where known."""
    found: dict[str, str] = {}
    for table in _FIELD_TABLES:
        entries = names.get(table)
        if type(entries) is not dict:
            continue
        for name, entry in entries.items():
            if type(name) is str:
                found[name] = name + (_annotation(entry) if table == "__annotations__" else "")
    for name, value in names.items():
        if type(name) is str and name in found:
            writer.note_secret(name, value)
    fields = names.get("_fields")  # of a named tuple
    if type(fields) is tuple:
        found |= {name: name for name in fields if type(name) is str}
    return found


def _annotation(value: object) -> str:
    if type(value) is str:
        return f": {value[:MAX_TEXT_CHARS]}"
    if value is None or not is_class(value):
        return ""
    return f": {type_name(value)}"  # type: ignore[arg-type] # it is a class


def _first_line(doc: object) -> list[str]:
    if type(doc) is not str:
        return []
    lines = [line.strip() for line in doc.split("\n") if line.strip()]
    return [f'"""{lines[0][:MAX_TEXT_CHARS]}"""'] if lines else []


def _summarize_method(value: MethodType, writer: Writer) -> str | None:
    function = value.__func__
    if type(function) is FunctionType:
        return f"method {_summarize_function(function, writer)}"
    return None


def _summarize_builtin(value: BuiltinFunctionType, writer: Writer) -> str:
    del writer
    return f"built-in function {value.__name__}"


def _summarize_module(value: ModuleType, writer: Writer) -> str:
    del writer
    names = ModuleType.__getattribute__(value, "__dict__")
    name = names.get("__name__")
    return f"module {name}" if type(name) is str else "module"


_DESCRIBERS: dict[int, Callable[[Any, Writer], str | None]] = {
    **dict.fromkeys(ids_of(FunctionType), _summarize_function),
    **dict.fromkeys(ids_of(MethodType), _summarize_method),
    **dict.fromkeys(ids_of(BuiltinFunctionType), _summarize_builtin),
    **dict.fromkeys(ids_of(ModuleType), _summarize_module),
}
