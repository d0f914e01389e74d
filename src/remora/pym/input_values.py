"""Validation of input values against the JSON Schema of a script's declared inputs."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from remora.json_schema import validator
from remora.pym.run_outcome import one_line
from remora.pym.specs import InputSpec

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


class ScriptArguments:
    """The declared inputs of a script."""

    def __init__(self, inputs: tuple[InputSpec, ...]) -> None:
        self.inputs = inputs

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12) of an object with one property per input, in declaration order."""
        return {
            "type": "object",
            "properties": {spec.name: _property(spec) for spec in self.inputs},
            "required": [spec.name for spec in self.inputs if spec.required],
            "additionalProperties": False,
        }

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        return validator(self.schema)

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """Return the first problem with `values` as a single line, or None if they are valid."""
        missing = [spec.name for spec in self.inputs if spec.required and spec.name not in values]
        known = [spec.name for spec in self.inputs]
        unknown = [name for name in values if name not in known]
        if missing:
            return f"missing argument: {', '.join(missing)}"
        if unknown:
            takes = ", ".join(known) or "none"
            return one_line(f"unknown argument: {', '.join(map(str, unknown))} (it takes {takes})")
        for error in self._validator.iter_errors(dict(values)):
            place = ".".join(str(part) for part in error.absolute_path)
            return one_line(f"{place}: {error.message}")
        return None

    def bad_default(self) -> tuple[InputSpec, str] | None:
        """Return the first input whose default does not match its type, and the error message.

        Returns None if all defaults are valid.
        """
        for spec in self.inputs:
            if not spec.required:
                for error in validator(spec.schema).iter_errors(spec.default):
                    return spec, one_line(f"the default of `{spec.name}`: {error.message}")
        return None

    def with_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each variable, using defaults for missing inputs."""
        return {spec.variable: values.get(spec.name, spec.default) for spec in self.inputs}


def _property(spec: InputSpec) -> dict[str, Any]:
    described = {"description": spec.description} if spec.description else {}
    default = {} if spec.required else {"default": spec.default}
    return {**spec.schema, **described, **default}
