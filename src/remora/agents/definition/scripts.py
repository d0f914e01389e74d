"""The scripts of an agent definition: the inputs that the harness provides, loading, and faults."""

import ast
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.definition.agent_yaml import AgentDefinition, Role, ScriptUse, script_uses
from remora.agents.named_summarizers import EPOCH
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node
from remora.config.yaml_positions import place_of, read_yaml_file
from remora.errors import ConfigError, ScriptError
from remora.json_schema import validator
from remora.memory.packet import DecisionPacket, packet_json
from remora.pym import InputSpec, Limits, Script

_TARGET: Mapping[str, Any] = {
    "path": "a.py",
    "node": "f",
    "key": "node:a.py:f",
    "type": "function",
    "first": 1,
    "last": 2,
    "own": [[1, 2]],
    "nodes": ["f"],
}
_HARNESS_SAMPLE: Mapping[str, Any] = {
    "target": _TARGET,
    "packet": packet_json(DecisionPacket()),
    "options": {"unsafe_fixes": False, "missed": {}, "open": False},
}
HARNESS_INPUTS = frozenset(_HARNESS_SAMPLE)
"""Inputs that the harness provides and models never see: node location, packet and options."""
_SUGGESTING_SAMPLE = {**_HARNESS_SAMPLE, "progress": {"left": ["f"], "changed": False}}
"""Inputs of context and candidates scripts, which have no arguments of a model."""
_FINDINGS = [
    {
        "path": "a.py",
        "line": 1,
        "end_line": 1,
        "column": 1,
        "end_column": 2,
        "code": "F401",
        "message": "",
        "fix": fix,
    }
    for fix in (None, {"applicability": "safe", "message": "", "edits": []})
]
_VERIFY_SAMPLE: Mapping[str, Any] = {
    "files": [{"path": path, "before": None, "after": ""} for path in ("a.py", "b.py")],
    "target": _TARGET,
    "findings_before": _FINDINGS,
    "findings_after": _FINDINGS,
}
_WITHOUT_HOST: frozenset[Role] = frozenset({"needs", "summarizer", "verify"})
"""Roles of scripts that cannot call host functions."""
_SOURCE = b'''"""Accounts."""

import os


class Account:
    """An account."""

    @staticmethod
    def pay(amount, to: str = "me", *rest, currency="EUR") -> int:
        return amount
'''


def needs_input(node: Node, findings: int, text: str) -> dict[str, Any]:
    """Return the `node` input of a needs script.

    `findings` is the number of lint findings. `text` is the source without nested nodes.
    """
    return {**msgspec.to_builtins(node), "findings": findings, "text": text}


def input_faults(script: Script, role: Role, node_types: Container[str]) -> Iterator[str]:
    """Yield the faults in the declared inputs and externals.

    Any fault makes every run of the script fail. A needs script is also run on a sample of each of
    the agent's node types, because an error in it ends `analyze`.
    """
    samples = _samples(role, node_types)
    faults = list(dict.fromkeys(f for sample in samples for f in _faults(script, role, sample)))
    yield from faults
    if role == "summarizer" and all(spec.name != "raw" for spec in script.inputs):
        yield f'{script.label}:1: a summarizer needs the input `raw`: `raw: Any = Input("raw")`'
    if role in _WITHOUT_HOST:
        yield from (
            f"{script.label}:{spec.line}: `{spec.name}`: a {role} script has no host functions"
            for spec in script.externals
        )
    if role == "needs" and not faults and not script.externals:
        yield from dict.fromkeys(filter(None, (_run_fault(script, given) for given in samples)))


def _samples(role: Role, node_types: Container[str]) -> list[Mapping[str, Any]]:
    """Return sample values of the inputs for a script role."""
    match role:
        case "needs":
            return [
                {"node": needs_input(node, 1, "text")}
                for node in _nodes()
                if node.node_type in node_types
            ]
        case "summarizer":
            return [{"raw": None}]
        case "verify":
            return [_VERIFY_SAMPLE]
        case "tool":
            return [_HARNESS_SAMPLE]
        case _:
            return [_SUGGESTING_SAMPLE]


@cache
def _nodes() -> tuple[Node, ...]:
    module = parse_module("a.py", _SOURCE)
    return module.nodes if isinstance(module, Module) else ()


def _faults(script: Script, role: Role, given: Mapping[str, Any]) -> Iterator[str]:
    for spec in script.inputs:
        if spec.name not in given:
            if role != "tool" and spec.required:
                names = ", ".join(f"`{name}`" for name in given)
                why = f"not available; a {role} script receives {names}"
                yield _input_fault(script, spec, why)
        elif role != "summarizer" and not validator(spec.schema).is_valid(given[spec.name]):
            why = f"Remora passes a value of type {type(given[spec.name]).__name__}"
            other = ": declare that type, or choose another name" if role == "tool" else ""
            yield _input_fault(script, spec, why + other)


def _run_fault(script: Script, sample: Mapping[str, Any]) -> str:
    """Return the error that the script raises for a sample, or an empty string."""
    declared = {spec.name for spec in script.inputs}
    given = {name: value for name, value in sample.items() if name in declared}
    run = script.run(given, {}, limits=Limits(), clock=EPOCH, seed=0)
    if run.error is None:
        return ""
    node_type = sample["node"]["node_type"]
    return f"{run.error.message} (for a sample {node_type})"


def untyped_inputs(script: Script) -> Iterator[str]:
    """Yield a warning for each input whose type does not describe its values to a model."""
    for spec in script.inputs:
        if not spec.schema and spec.name not in HARNESS_INPUTS:
            why = "its type is too vague for a model; use str, int, Literal or list"
            yield _input_fault(script, spec, why)


def _input_fault(script: Script, spec: InputSpec, why: str) -> str:
    return f"{script.label}:{spec.line}: the input `{spec.name}`: {why}"


Examine = Callable[[Path], tuple[Script | None, list[ScriptError]]]
"""Reads a script and returns it with its problems. It is None if there are any."""
_HINT = "correct the script or agent.yaml; `remora agents validate` checks all agents"


def load_scripts(
    folder: Path, definition: AgentDefinition, examine: Examine, *, checked: bool
) -> dict[str, Script]:
    """Return the definition's scripts, keyed by their path in the definition.

    If `checked` is False, inputs and grants are not checked, which needs a slow import.
    Raises ConfigError if a script has a fault. The message has one line for each fault, for example
    `agent.yaml:LINE:COLUMN: FILE.pym:LINE: ...`.
    """
    scripts: dict[str, Script] = {}
    faults: list[tuple[ScriptUse, str]] = []
    hints: list[str] = []
    for use in script_uses(definition):
        if use.script not in scripts:
            script, errors = examine(folder / use.script)
            faults += [(use, error.message) for error in errors]
            hints += [error.hint for error in errors if error.hint]
            if script is None:
                continue
            scripts[use.script] = script
        if checked:
            faults += [(use, fault) for fault in _use_faults(scripts[use.script], use, definition)]
    if faults:
        marked = read_yaml_file(folder / "agent.yaml")
        lines = [f"{place_of(marked, use.where)[1]}: {fault}" for use, fault in faults]
        raise ConfigError("\n".join(dict.fromkeys(lines)), hint=(hints or [_HINT])[0])
    return scripts


def _use_faults(script: Script, use: ScriptUse, definition: AgentDefinition) -> Iterator[str]:
    yield from input_faults(script, use.role, definition.node_types)
    if use.role in _WITHOUT_HOST:
        return
    for spec in script.externals:
        if spec.name not in use.grants:
            yield f"{script.label}:{spec.line}: `{spec.name}` is not granted: add it to the grants"
    for mapping in script.dictionaries() if definition.packet_extension is None else ():
        if {"'result'", "'extensions'"} <= {ast.unparse(key) for key in mapping.keys if key}:
            at = f"{script.label}:{mapping.lineno}"
            yield f"{at}: `extensions` needs a `packet_extension` in agent.yaml"


def script_warnings(
    folder: Path, definition: AgentDefinition, scripts: Mapping[str, Script]
) -> Iterator[str]:
    """Yield a warning for each undeclared grant and untyped input."""
    marked = read_yaml_file(folder / "agent.yaml")
    for use in script_uses(definition):
        script, place = scripts[use.script], place_of(marked, use.where)[1]
        declared = {spec.name for spec in script.externals}
        for index, name in enumerate(use.grants):
            if name not in declared:
                at = place_of(marked, (*use.where[:-1], "grants", index))[1]
                yield f"{at}: `{name}` is granted, but {script.label} declares no such external"
        if use.role == "tool":
            yield from (f"{place}: {fault}" for fault in untyped_inputs(script))
