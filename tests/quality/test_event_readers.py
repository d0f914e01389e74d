"""Few modules look at the types of an agent's events: all others read its turns.

A module counts if it names at least two types of an agent's events

- in the pattern of a `case`, in an `isinstance`, or in a `payload_if`,
- as `X.type` or `EventName.X`,
- as a string that is compared with something, or that is a key of a table.

To give a class to a function that decodes an event, such as `payload_of`, does not count: that the
event has this type is known from its place in the turn.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import remora
from remora.memory import payloads
from remora.memory.run_payloads import RunStart

SOURCE = Path(remora.__file__).parent
CLASSES = {
    name: kind.type
    for name, kind in vars(payloads).items()
    if isinstance(kind, type) and issubclass(kind, payloads.Payload) and kind.type
}
TYPES = frozenset(CLASSES.values())
NAMED = re.compile(rf"\b({'|'.join([*CLASSES, *TYPES, 'EventName'])})\b")
DEFINING = "memory/events.py"
MOST = 10
READERS = {
    "agents/loop/state.py": "the loop applies each event after writing it",
    "memory/foreign_events.py": "dicts of other programs become events",
    "memory/projection.py": "a fold of packets begins with the first event",
    "memory/prompt/history.py": "the loop shows each event to models",
    "runs/records/run_events.py": "each event is printed as it happens",
    "trace/read/agent_turns.py": "the fold itself",
    "trace/read/event_summary.py": "each event has a text",
    "trace/verify/content_check.py": "a check trusts no fold",
    "trace/verify/projection_check.py": "a check trusts no fold",
    "trace/verify/stream_check.py": "a check trusts no fold",
}


def event_types(text: str) -> set[str]:
    """Return the types of an agent's events that a module tells apart."""
    if not NAMED.search(text):  # parsing all modules takes a second
        return set()
    nodes = ast.walk(ast.parse(text))
    return {kind for node in nodes for kind in _named(node) if kind in TYPES}


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.MatchClass(cls=kind):
            yield from _classes(kind)
        case ast.Call(func=ast.Name(id="isinstance" | "payload_if"), args=[_, kinds]):
            yield from _classes(kinds)
        case ast.Attribute(value=ast.Name(id="EventName"), attr=name):
            yield name.lower()
        case ast.Attribute(value=kind, attr="type"):
            yield from _classes(kind)
        case ast.Compare(left=left, comparators=right):
            yield from (text for side in (left, *right) for text in _strings(side))
        case ast.MatchValue(value=value):
            yield from _strings(value)
        case ast.Dict(keys=keys):
            found = {text for key in keys if key for text in _strings(key)} & TYPES
            yield from found if len(found) > 1 else ()


def _classes(node: ast.AST) -> Iterator[str]:
    inner = [*ast.walk(node)]
    names = [part.id for part in inner if isinstance(part, ast.Name)]
    names += [part.attr for part in inner if isinstance(part, ast.Attribute)]
    return (CLASSES[name] for name in names if name in CLASSES)


def _strings(node: ast.AST) -> Iterator[str]:
    items = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    return (str(item.value) for item in items if isinstance(item, ast.Constant))


def test_modules_read_turns_and_not_types_of_events() -> None:
    texts = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name for name, path in texts.items() if len(event_types(path.read_text("utf-8"))) > 1}
    assert found - {DEFINING} == set(READERS)
    assert len(READERS) <= MOST


def test_a_planted_reader_is_counted() -> None:
    assert RunStart.type not in TYPES
    assert event_types("isinstance(x, ToolCalled | AgentError)") == {"tool_call", "agent_error"}
    assert event_types("payload_if(e, AgentEnd)") == {"agent_end"}
    assert event_types("e.type in (ToolCalled.type, m.TurnStart.type)") == {
        "tool_call",
        "turn_start",
    }
    assert event_types("match x:\n case ModelRequest(): 1\n case 'agent_end': 2") == {
        "model_request", "agent_end",
    }  # fmt: skip
    assert event_types("e.type in {'tool_call', 'tool_result'}") == {"tool_call", "tool_result"}
    assert event_types("{'tool_call': f, 'tool_result': g}") == {"tool_call", "tool_result"}
    assert event_types("e.type == EventName.AGENT_START") == {"agent_start"}
    assert not event_types("payload_of(step.event, ToolCalled), payload_of(e, ToolResulted)")
