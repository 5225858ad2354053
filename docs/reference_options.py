"""Shows a function that takes a struct of options with the fields of that struct, as one calls it."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe

import whichone


class FieldsAsKeywords(griffe.Extension):
    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Of those that the reference shows: to import the modules of all others takes a third of the build."""
        if whichone._PLACES.get(func.name) != func.module.path or not any(
            str(decorator.value).startswith("takes(") for decorator in func.decorators
        ):
            return
        function = getattr(importlib.import_module(func.module.path), func.name)
        func.parameters = griffe.Parameters(*map(shown, inspect.signature(function).parameters.values()))


def shown(parameter: inspect.Parameter) -> griffe.Parameter:
    written = parameter.annotation
    annotation = written if isinstance(written, str) else inspect.formatannotation(written)
    default = None if parameter.default is parameter.empty else repr(parameter.default)
    kind = griffe.ParameterKind(parameter.kind.description)
    return griffe.Parameter(
        parameter.name, annotation=annotation.replace("typing.", ""), kind=kind, default=default
    )
