"""A `.pym` script, which is checked when it is loaded, and its runs."""

import ast
import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_monty import MontyError

from remora.errors import NotFound, ReplayMismatch, ScriptError
from remora.json_schema import clearly_fits, validator
from remora.pym.declarations import parse_declarations
from remora.pym.execution import CallHandler, PrintedOutput, ScriptExecution
from remora.pym.host_calls import GrantedFunctions, RecordedCalls
from remora.pym.json_values import NotJsonError, TooLargeError, to_json_value
from remora.pym.limits import Limits, open_sandbox
from remora.pym.outputs import to_output
from remora.pym.run_outcome import (
    HostCall,
    ScriptRun,
    from_monty_error,
    one_line,
    replay_mismatch,
    script_error_at,
)
from remora.pym.script_problems import find_problems
from remora.pym.specs import ExternalSpec, InputSpec
from remora.python_text import parse
from remora.regular_file import open_regular

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
        if clearly_fits(values, self.schema):
            return None
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


SOURCE_LIMIT = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Script:
    """A checked script."""

    name: str
    path: Path | None
    """The script's file, or None if it was not read from one."""
    label: str
    """The name of the script in messages."""
    sha256: str
    """The hash of `raw`."""
    description: str
    """The script's docstring."""
    inputs: tuple[InputSpec, ...]
    externals: tuple[ExternalSpec, ...]
    source: str = field(repr=False)
    """The code to run, without the declarations."""
    raw: bytes = field(repr=False)
    """The content of the file."""

    @cached_property
    def arguments(self) -> ScriptArguments:
        """The declared inputs, with methods to validate values for them."""
        return ScriptArguments(self.inputs)

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the inputs, with properties in declaration order."""
        return self.arguments.schema

    def dictionaries(self) -> Iterator[ast.Dict]:
        """Yield the dictionary displays in the script.

        There are none if Remora's own Python is too old for the syntax of the script, which is that
        of the embedded interpreter.
        """
        with suppress(SyntaxError):
            yield from (node for node in ast.walk(parse(self.raw)) if isinstance(node, ast.Dict))

    def run(
        self,
        inputs: Mapping[str, Any],
        externals: Mapping[str, Callable[..., Any]],
        *,
        limits: Limits,
        clock: datetime,
        seed: int,
    ) -> ScriptRun:
        """Run the script and return its outcome, including any error.

        `externals` maps names to the granted functions. They must not be coroutine functions, even
        if the script declares them with `async def`. The sandbox's clock is fixed at `clock`, which
        must be timezone-aware. `random` is seeded with `seed`. Thread-safe.
        """
        answer = GrantedFunctions(externals, limits)
        return _execute(self, inputs, answer, limits=limits, clock=clock, seed=seed)


def load(path: Path) -> Script:
    """Read and check a script.

    Raises NotFound if the file cannot be read, and ScriptError for the first problem in the script.
    """
    return _require_script(examine(path))


def load_source(source: str, *, name: str) -> Script:
    """Check a script given as a string. Raises ScriptError for the first problem."""
    return load_bytes(source.encode("utf-8", "surrogatepass"), name=name)


def load_bytes(raw: bytes, *, name: str, path: Path | None = None) -> Script:
    """Check a script given as bytes. Raises ScriptError for the first problem."""
    label = path.name if path else f"{name}.pym"
    return _require_script(_examine(raw, name, path, label))


def examine(path: Path, *, checked: bool = True) -> tuple[Script | None, list[ScriptError]]:
    """Read a script and return it with a list of its problems.

    The script is None if there are any problems. If `checked` is False, only its declarations are
    checked, which takes 1 ms instead of 25 ms. Raises NotFound if the file cannot be read.
    """
    hint = "give the path of a `.pym` file"
    try:
        with open_regular(path) as file:
            raw = file.read(SOURCE_LIMIT + 1)
    except OSError as error:
        message = f"cannot read the script {path}: {error.strerror}"
        raise NotFound(message, hint=hint) from None
    return _examine(raw, path.stem, path, path.name, checked=checked)


def _require_script(found: tuple[Script | None, list[ScriptError]]) -> Script:
    script, errors = found
    if script is None:
        raise errors[0]
    return script


def _examine(
    raw: bytes, name: str, path: Path | None, label: str, *, checked: bool = True
) -> tuple[Script | None, list[ScriptError]]:
    try:
        declared = parse_declarations(_decode_source(raw, label), label)
    except ScriptError as error:
        return None, [error]
    errors = []
    if checked:
        bad = ScriptArguments(declared.inputs).bad_default()
        errors += [script_error_at(label, "typing", bad[1], bad[0].line)] if bad else []
        errors += find_problems(label, declared.runs, declared.checks)
    if errors:
        return None, errors
    script = Script(
        name=name,
        path=path,
        label=label,
        sha256=hashlib.sha256(raw).hexdigest(),
        description=declared.description,
        inputs=declared.inputs,
        externals=declared.externals,
        source=declared.runs,
        raw=raw,
    )
    return script, []


def _decode_source(raw: bytes, label: str) -> str:
    if len(raw) > SOURCE_LIMIT:
        raise script_error_at(label, "syntax", f"larger than {SOURCE_LIMIT} bytes", 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise script_error_at(label, "syntax", "not UTF-8", line) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def replay(
    script: Script,
    inputs: Mapping[str, Any],
    host_calls: Sequence[HostCall],
    *,
    limits: Limits,
    clock: datetime,
    seed: int,
) -> ScriptRun:
    """Run a script, answering its host calls from a recording.

    If the calls differ from the recording, the run's error is a ReplayMismatch.
    """
    answer = RecordedCalls(host_calls)
    run = _execute(script, inputs, answer, limits=limits, clock=clock, seed=seed)
    mismatched = isinstance(run.error, ReplayMismatch)
    if not mismatched and answer.count < len(host_calls):
        message = f"{answer.count} calls were made, {len(host_calls)} are recorded"
        error = replay_mismatch(script.label, message, None)
        return dataclasses.replace(run, value=None, error=error)
    return run


def _execute(
    script: Script,
    inputs: Mapping[str, Any],
    answer: CallHandler,
    *,
    limits: Limits,
    clock: datetime,
    seed: int,
) -> ScriptRun:
    began = time.perf_counter()
    externals = {spec.name: spec for spec in script.externals}
    execution = ScriptExecution(script.label, externals, answer, limits)
    printed = PrintedOutput(limits.print_bytes)
    value, error = None, None
    try:
        values = _fill_inputs(script, inputs, limits)
        with open_sandbox(script.label, limits, clock=clock, seed=seed) as sandbox:
            raw = execution.run(sandbox, script.source, values, printed)
        value = to_output(raw, limit=limits.result_bytes)
    except MontyError as failed:
        error = from_monty_error(failed, script.label)
    except ScriptError as refused:
        error = refused
    except NotJsonError as odd:
        error = script_error_at(
            script.label, "contract", f"the result cannot be recorded: {odd}", None
        )
    except TooLargeError as large:
        error = script_error_at(script.label, "limit", f"the result is {large}", None)
    if printed.more:
        message = f"printed more than {limits.print_bytes} bytes"
        value, error = None, script_error_at(script.label, "limit", message, None)
    return ScriptRun(
        value=value,
        printed=printed.text,
        host_calls=tuple(execution.calls),
        error=error,
        duration_ms=round((time.perf_counter() - began) * 1000),
    )


def _fill_inputs(script: Script, inputs: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    if problem := script.arguments.problem(inputs):
        raise script_error_at(script.label, "contract", problem, None)
    try:
        filled: dict[str, Any] = to_json_value(
            script.arguments.with_defaults(inputs), limit=limits.result_bytes
        )
    except (NotJsonError, TooLargeError) as error:
        raise script_error_at(script.label, "contract", f"an argument is {error}", None) from None
    return filled


class ScriptChecks:
    """Caches the results of `examine`."""

    def __init__(self, *, built_in: bool = False) -> None:
        self.built_in = built_in
        """True if the scripts of built-in agents are checked, too, which tests of Remora do."""
        self._results: dict[Path, tuple[Script | None, list[ScriptError]]] = {}

    def examine(self, path: Path) -> tuple[Script | None, list[ScriptError]]:
        """Return the script and its problems. The script is None if it cannot be run.

        Raises NotFound if the path is not a file that can be read.
        """
        if path not in self._results:
            self._results[path] = examine(path)
        return self._results[path]
