"""The inputs that the harness provides, and checks of the inputs that a script declares."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from jsonschema import Draft202012Validator

from remora.agents.definition.agent_yaml import Role
from remora.memory.packet import DecisionPacket, packet_json
from remora.pym import InputSpec, Script

_TARGET: Mapping[str, Any] = {
    "path": "a.py",
    "node": "f",
    "key": "node:a.py:f",
    "type": "function",
    "first": 1,
    "last": 2,
    "own": [[1, 2]],
}
_HARNESS_SAMPLE: Mapping[str, Any] = {
    "target": _TARGET,
    "packet": packet_json(DecisionPacket()),
    "options": {"unsafe_fixes": False, "strengthen": False, "open": False},
}
HARNESS_INPUTS = frozenset(_HARNESS_SAMPLE)
"""Inputs that the harness provides and models never see: node location, packet and options."""
_FINDINGS = [{"path": "a.py", "line": 1, "code": "F401", "message": "", "fix": None}]
_SAMPLES: Mapping[Role, Mapping[str, Any]] = MappingProxyType(
    {
        "tool": _HARNESS_SAMPLE,
        "context": _HARNESS_SAMPLE,
        "candidates": _HARNESS_SAMPLE,
        "summarizer": {"raw": None},
        "needs": {"node": {"key": "node:a.py:f", "line_start": 1, "docstring": None}},
        "verify": {
            "files": [{"path": "a.py", "before": None, "after": ""}],
            "target": _TARGET,
            "findings_before": _FINDINGS,
            "findings_after": _FINDINGS,
        },
    }
)
"""Sample values of the inputs for each script role."""


def input_faults(script: Script, role: Role) -> Iterator[str]:
    """Yield the faults in the declared inputs. Any fault makes every run of the script fail."""
    given = _SAMPLES[role]
    for spec in script.inputs:
        if spec.name not in given:
            if role != "tool" and spec.required:
                yield _input_fault(
                    script, spec, f"not available; a {role} script receives {_list(given)}"
                )
        elif role != "summarizer" and not Draft202012Validator(spec.schema).is_valid(
            given[spec.name]
        ):
            why = f"Remora passes a value of type {type(given[spec.name]).__name__}"
            other = ": declare that type, or choose another name" if role == "tool" else ""
            yield _input_fault(script, spec, why + other)
    if role == "summarizer" and all(spec.name != "raw" for spec in script.inputs):
        yield f'{script.label}:1: a summarizer needs the input `raw`: `raw: Any = Input("raw")`'


def untyped_inputs(script: Script) -> Iterator[str]:
    """Yield a warning for each input whose type does not describe its values to a model."""
    for spec in script.inputs:
        if not spec.schema and spec.name not in HARNESS_INPUTS:
            yield _input_fault(
                script,
                spec,
                "its type is too vague for a model; use str, int, Literal or list",
            )


def _input_fault(script: Script, spec: InputSpec, why: str) -> str:
    return f"{script.label}:{spec.line}: the input `{spec.name}`: {why}"


def _list(given: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in given)
