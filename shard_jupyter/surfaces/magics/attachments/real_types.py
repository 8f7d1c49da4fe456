"""What a value is, found out without running any code of its class.

`value.__class__`, `isinstance`, `cls.__module__` and `getattr` can all be answered by code of the
class or its metaclass. `type(value)` and the descriptors of `type` itself cannot.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

_MODULE = type.__dict__["__module__"]
_QUALNAME = type.__dict__["__qualname__"]
_MRO = type.__dict__["__mro__"]
_DICT = type.__dict__["__dict__"]
_SITE_FOLDERS = ("site-packages", "dist-packages")


def type_name(cls: type) -> str:
    """The qualified name, such as `decimal.Decimal`; without `builtins` for what Python brings."""
    module, name = _module_of(cls), _text(_QUALNAME.__get__(cls)) or "unnamed"
    return name if module in ("builtins", "") else f"{module}.{name}"


def is_class(value: object) -> bool:
    return any(base is type for base in _MRO.__get__(type(value)))


def bases_of(cls: type) -> tuple[type, ...]:
    """The class and its bases, nearest first, without `object`."""
    return tuple(base for base in _MRO.__get__(cls) if base is not object)


def own_names(cls: type) -> Mapping[str, Any]:
    """What the class statement itself defined."""
    names: Mapping[str, Any] = _DICT.__get__(cls)
    return names


def library_of(cls: type, libraries: frozenset[str]) -> str:
    """The library whose own class this is, '' if it is none of `libraries`.

    Own means that its module, loaded from where packages are installed, has this very class under
    its name: not a subclass, a namesake, or a module of that name beside the notebook.
    """
    module = _module_of(cls)
    root = module.partition(".")[0]
    if root not in libraries or not _is_installed(root):
        return ""
    found: object = _names_of(sys.modules.get(module))
    for part in _text(_QUALNAME.__get__(cls)).split("."):
        found = found.get(part) if type(found) is dict else None
    return root if found is cls else ""


def find_class(module: str, name: str) -> object:
    """The attribute of a loaded module; None if there is no such module."""
    return _names_of(sys.modules.get(module)).get(name)


def _is_installed(root: str) -> bool:
    path = _names_of(sys.modules.get(root)).get("__file__")
    return type(path) is str and any(f"/{folder}/" in path for folder in _SITE_FOLDERS)


def _names_of(module: object) -> dict[str, Any]:
    if type(module) is not ModuleType:
        return {}  # a stand-in that loads when it is touched
    names: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return names


def _module_of(cls: type) -> str:
    try:
        return _text(_MODULE.__get__(cls))
    except AttributeError:  # deleted, or made where there is no module
        return ""


def _text(value: object) -> str:
    return value if type(value) is str else ""
