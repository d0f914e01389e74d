"""Execution of a script in the sandbox, with its host calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic_monty import (
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontySession,
    NameLookupSnapshot,
)

from remora.pym.json_values import NotJsonError, SizeBudget, TooLargeError, charge, to_json_value
from remora.pym.limits import Limits
from remora.pym.run_outcome import HostCall, replay_mismatch, script_error_at
from remora.pym.specs import ExternalSpec

_FINAL_KINDS = ("denied", "limit")

_Snapshot = FunctionSnapshot | NameLookupSnapshot | FutureSnapshot | MontyComplete


class CallHandler(Protocol):
    """Executes a host call and returns a record of it, which contains JSON values.

    If the error in the record starts with `denied: `, `limit: ` or `mismatch: `, the script is
    stopped.
    """

    def __call__(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> HostCall: ...


class PrintedOutput:
    """The first part of a script's output, up to a limit.

    The script is not stopped when its output exceeds the limit. Output arrives in chunks of random
    size, so the script would stop at a different point in each run.
    """

    def __init__(self, limit: int) -> None:
        self.parts: list[bytes] = []
        self.left = limit
        self.more = False

    def __call__(self, _stream: Literal["stdout", "stderr"], text: str) -> None:
        content = text.encode("utf-8", "replace")
        self.more = self.more or len(content) > self.left
        if self.left > 0:
            self.parts.append(content[: self.left])
            self.left -= len(content)

    @property
    def text(self) -> str:
        """The part of the output that was kept. An incomplete character at the end is removed."""
        return b"".join(self.parts).decode("utf-8", "ignore")


@dataclass
class ScriptExecution:
    """A run of a script, with records of its host calls."""

    label: str
    externals: Mapping[str, ExternalSpec]
    call_handler: CallHandler
    limits: Limits

    def __post_init__(self) -> None:
        self.calls: list[HostCall] = []
        self.carried = SizeBudget(self.limits.carried_bytes)
        self.waiting: dict[int, ExternalSettledResult] = {}
        self.source = b""

    def run(
        self, sandbox: MontySession, source: str, inputs: dict[str, Any], printed: PrintedOutput
    ) -> Any:
        """Run the script and return the value of its last expression.

        Raises MontyError if the sandbox reports an error, and ScriptError if a host call stops the
        script.
        """
        self.source = source.encode("utf-8", "surrogatepass")
        step: _Snapshot = sandbox.feed_start(
            source, inputs=inputs, print_callback=printed, skip_type_check=True
        )
        while not isinstance(step, MontyComplete):
            if isinstance(step, FunctionSnapshot):
                step = self._handle_call(step)
            elif isinstance(step, NameLookupSnapshot):
                step = self._resolve_name(step)
            else:
                settled: dict[int, ExternalSettledResult] = {
                    call: self.waiting.pop(call) for call in step.pending_call_ids
                }
                step = step.resume(settled)
        return step.output

    def _resolve_name(self, step: NameLookupSnapshot) -> _Snapshot:
        """Resolve a name that is used as a value.

        For example, a script may assign an external function to a variable or pass it to a call.
        """
        if step.object_id is None and step.variable_name in self.externals:
            return step.resume(value=_placeholder(step.variable_name))
        return step.resume()

    def _handle_call(self, step: FunctionSnapshot) -> _Snapshot:
        if step.is_os_function:
            return step.resume_not_handled()
        spec = self.externals.get(step.function_name)
        if spec is None or step.object_id is not None:
            message = f"name '{step.function_name}' is not defined"
            return step.resume({"exc_type": "NameError", "message": message})
        settled = self._execute_call(spec, step)
        if not spec.is_async:
            return step.resume(settled)
        self.waiting[step.call_id] = settled
        return step.resume({"future": ...})

    def _execute_call(self, spec: ExternalSpec, step: FunctionSnapshot) -> ExternalSettledResult:
        line = self.source.count(b"\n", 0, step.position.start) + 1
        if len(self.calls) >= self.limits.host_calls:
            message = f"more than {self.limits.host_calls} host calls"
            raise script_error_at(self.label, "limit", message, line)
        try:
            values = to_json_value([list(step.args), step.kwargs], limit=self.limits.result_bytes)
        except (NotJsonError, TooLargeError) as error:
            return {"exc_type": "TypeError", "message": f"{spec.name}: an argument is {error}"}
        call = self.call_handler(spec.name, *values)
        self._record_call(call, line)
        if call.error is None:
            return {"return_value": call.result}
        kind, _, message = call.error.partition(": ")
        if kind == "mismatch":
            raise replay_mismatch(self.label, message, line)
        if kind in _FINAL_KINDS:
            raise script_error_at(self.label, kind, message, line)
        return {"exc_type": kind, "message": message}  # type: ignore[typeddict-item]

    def _record_call(self, call: HostCall, line: int) -> None:
        """Record a call. Raises ScriptError if the total size of all calls exceeds the limit."""
        self.calls.append(call)
        try:
            for part in (call.args, call.kwargs, call.result):
                charge(part, self.carried)
        except TooLargeError:
            message = f"host calls carried more than {self.limits.carried_bytes} bytes"
            raise script_error_at(self.label, "limit", message, line) from None


def _placeholder(name: str) -> Callable[..., Any]:
    """Return a placeholder for an external function. The sandbox reports calls to it by name."""

    def external(*_args: Any, **_kwargs: Any) -> None:
        raise NotImplementedError(name)

    external.__name__ = name
    return external
