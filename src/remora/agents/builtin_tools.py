"""Built-in tools that every agent has: `recall`, `undo`, `leave` and `submit_result`."""

import json
import zlib
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.errors import DiskError, HostError, NotFound, StreamDamaged
from remora.memory.events import Event
from remora.memory.packet import SUBMIT_TOOL, DecisionPacket
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import BLOB_LIMIT, LINE_LIMIT, read_text_lines, resolve
from remora.trace.read.reader import decode_part

RECALL = "recall"
UNDO = "undo"
LEAVE = "leave"
SUBMIT = SUBMIT_TOOL
NEEDS_MODEL = "rules alone cannot decide the next step, and there is no model to ask"
"""Summary of a submission that is made because no candidate has all its arguments."""
BUILTIN = frozenset({RECALL, UNDO, LEAVE, SUBMIT})
"""Tools that write no text of their own to files."""
MAX_LINES = 60
_MAX_ITEM = 60
_LEFT = "left "
"""Start of the knowledge keys of items that a model left."""
_PACKED = b"\0"
"""First byte of a compressed output; JSON never begins with it."""


def _builtin(name: str, description: str, **arguments: dict[str, Any]) -> ToolSchema:
    """Return the schema of a tool all of whose arguments are required."""
    parameters = {"type": "object", "properties": arguments, "required": [*arguments]}
    return ToolSchema(name=name, description=description, parameters=parameters, looks=True)


_TEXT = {"type": "string"}
_INTEGER = {"type": "integer"}
BUILTIN_SCHEMAS = (
    _builtin(
        RECALL,
        'Show output "turn:N".',
        ref=_TEXT,
        lines={"type": "array", "items": _INTEGER},
    ),
    _builtin(UNDO, "Take back this and later turns.", turn=_INTEGER, because=_TEXT),
    _builtin(LEAVE, "Skip an item.", item=_TEXT, because={**_TEXT, "description": "The reason."}),
    ToolSchema(
        name=SUBMIT,
        description="Finish.",
        parameters={"type": "object", "properties": {"summary": _TEXT}},
    ),
)


def succeeded(summary: str, result: Any = None) -> dict[str, Any]:
    """Return the result of a built-in tool that did what it was called for."""
    return {"result": result, "summary": summary, "knowledge_delta": {}, "outcome": "success"}


def leave(item: str, because: str) -> dict[str, Any]:
    """Return the result of the `leave` tool. The packet shows the reason as a fact.

    Raises `HostError` if there is no item or no reason.
    """
    item, because = item.strip(), because.strip()
    if not (item and because):
        raise HostError("leave needs an item and a reason")
    facts = {f"{_LEFT}{item[:_MAX_ITEM]}": because}
    made = {"item": item, "because": because}
    return {**succeeded(f"Left {item}: {because}", made), "knowledge_delta": facts}


def left_items(packet: DecisionPacket) -> list[str]:
    """Return the first 60 characters of each item that `leave` has recorded."""
    return [key.removeprefix(_LEFT) for key in packet.knowledge if key.startswith(_LEFT)]


def undone(turn: int, because: str) -> dict[str, Any]:
    """Return the result of the `undo` tool."""
    return succeeded(f"Undid turn {turn} and later: {because}")


def raw_text(raw_output: Any) -> str:
    """Return a string unchanged, and any other value as indented JSON."""
    if isinstance(raw_output, str):
        return raw_output
    return json.dumps(raw_output, indent=1, ensure_ascii=False)


class RawOutputs:
    """Texts of a model in an agent's turns, and the raw outputs, as shown by `recall`.

    An answer that is not a call is the output of its turn.
    Long strings stay in the blob store and are read line by line. Other outputs are kept in memory
    in their recorded form, and large outputs are compressed. The same events always give the same
    outputs.
    """

    def __init__(self, blobs: ObjectStore) -> None:
        self._blobs = blobs
        self._recorded: dict[int, bytes] = {}
        self._written: dict[int, dict[str, Any]] = {}

    def add_result(self, event: Event) -> None:
        """Store the arguments and the output of a `tool_result` event."""
        result = decode_part(event, _Recorded)
        recorded, self._written[event.turn] = bytes(result.raw_output), result.args
        long = len(recorded) > BLOB_LIMIT
        self._recorded[event.turn] = _PACKED + zlib.compress(recorded, 1) if long else recorded

    def add_answer(self, event: Event) -> None:
        """Store the answer of a `model_response` event."""
        self._recorded[event.turn] = bytes(decode_part(event, _Answered).text)

    def turns(self) -> tuple[int, ...]:
        return tuple(self._recorded)

    def lines(self, turn: int, first: int, last: int) -> tuple[list[str], int]:
        """Return lines `first` to `last` (1-based, inclusive) and the total number of lines.

        The arguments come first, and a line `output:`. Each line is truncated to LINE_LIMIT characters. Raises KeyError if the turn has no output,
        and NotFound, StreamDamaged or DiskError if a blob cannot be read.
        """
        args = resolve(self._written.get(turn) or {}, self._blobs)
        told = "\n".join(f"{name}: {raw_text(value)}" for name, value in args.items())
        written = [*told.split("\n"), "output:"] if told else []
        skipped = len(written)
        shown, total = self._output_lines(turn, max(first - skipped, 1), max(last - skipped, 0))
        head = [line[:LINE_LIMIT] for line in written[max(0, first - 1) : last]]
        return head + shown, skipped + total

    def _output_lines(self, turn: int, first: int, last: int) -> tuple[list[str], int]:
        recorded = self._recorded[turn]
        if recorded.startswith(_PACKED):
            recorded = zlib.decompress(recorded[len(_PACKED) :])
        output = msgspec.json.decode(recorded)
        match output:
            case {"$blob": {"sha256": str(digest)}} if len(output) == 1:
                return read_text_lines(self._blobs, digest, first, last)
        text = raw_text(resolve(output, self._blobs) if b'blob"' in recorded else output)
        split = text.split("\n")
        return [line[:LINE_LIMIT] for line in split[first - 1 : last]], len(split)


class _Recorded(msgspec.Struct):
    raw_output: msgspec.Raw = msgspec.Raw(b"null")
    args: dict[str, Any] = {}


class _Answered(msgspec.Struct):
    text: msgspec.Raw = msgspec.Raw(b'""')


def recall(ref: str, lines: list[int], outputs: RawOutputs) -> dict[str, Any]:
    """Return the result of the `recall` tool for the turn in `ref` (`turn:N`).

    `lines` contains the first and last line to show (1-based, inclusive). Raises `HostError` if the
    turn has no output or the output cannot be read.
    """
    turn = ref.removeprefix("turn:")
    if not turn.isdecimal() or int(turn) not in outputs.turns():
        known = ", ".join(f"turn:{n}" for n in outputs.turns()) or "none yet"
        raise HostError(f"no raw output {ref!r}; there is {known}")
    first = max(1, lines[0] if lines else 1)
    try:
        shown, total = _excerpt(outputs, int(turn), first, lines[1] if len(lines) > 1 else None)
    except (NotFound, StreamDamaged, DiskError) as error:
        raise HostError(f"the raw output {ref!r} cannot be read: {error.message}") from error
    first = min(first, total)
    span = [first, first + len(shown) - 1]
    made = {"ref": ref, "lines": span, "total": total}
    excerpt = {"ref": ref, "path": "", "lines": span, "text": "\n".join(shown)}
    said = f"Lines {span[0]}-{span[1]} of {total} of {ref}"
    return {**succeeded(said, made), "excerpt": excerpt}


def _excerpt(outputs: RawOutputs, turn: int, first: int, last: int | None) -> tuple[list[str], int]:
    """Return one to MAX_LINES lines. If `first` is past the end, return the last line."""
    most = first + MAX_LINES - 1
    last = most if last is None else max(first, min(last, most))
    shown, total = outputs.lines(turn, first, last)
    return (shown, total) if shown else outputs.lines(turn, total, total)
