"""The values that a package defines, found in its modules."""

import importlib
import pkgutil
from types import ModuleType

from msgspec import Struct


def structs_of(package: ModuleType) -> list[type[Struct]]:
    """Every struct that a module of the package defines."""
    found: list[type[Struct]] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        found += [
            value
            for value in vars(importlib.import_module(module.name)).values()
            if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.name
        ]
    return found
