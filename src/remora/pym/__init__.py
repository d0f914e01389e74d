"""Loads, type-checks and runs `.pym` scripts in a sandbox with resource limits."""

from remora.pym.limits import Limits
from remora.pym.run_outcome import HostCall, ScriptRun, one_line
from remora.pym.script import (
    Script,
    ScriptChecks,
    examine,
    load,
    load_bytes,
    load_source,
    replay,
)
from remora.pym.specs import ExternalSpec, Input, InputSpec, Parameter, external

__all__ = [
    "ExternalSpec",
    "HostCall",
    "Input",
    "InputSpec",
    "Limits",
    "Parameter",
    "Script",
    "ScriptChecks",
    "ScriptRun",
    "examine",
    "external",
    "load",
    "load_bytes",
    "load_source",
    "one_line",
    "replay",
]
