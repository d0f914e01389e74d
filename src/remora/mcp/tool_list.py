"""The tools of the server: names, descriptions and arguments.

The descriptions are read by models, which pay for each token: they say when to call a tool and what
its answer means, and nothing else.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from remora.bootstrap.operations import BUILT_IN
from remora.mcp.answer_page import MAX_PAGE
from remora.statuses import STATUSES

MAX_TEXT = 4096
"""Maximum characters of an argument; no path is longer."""
MAX_ITEMS = 256
"""Maximum number of items of an argument. With MAX_TEXT, they fit on a command line."""
MAX_DIFF = 1_000_000
"""Maximum characters of a diff (decision: a person does not read a longer change either)."""
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NAME = {**_TEXT, "description": "path:qualname, Class.method, dotted name or path:LINE"}
_COUNT = {"type": "integer", "minimum": 1}
_INDEX = {"type": "integer", "minimum": 0}
_PAGE = {"limit": {**_COUNT, "maximum": MAX_PAGE}, "offset": _INDEX}


class ToolSpec(NamedTuple):
    """A tool. Only a person accepts changes."""

    name: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...] = ()
    is_read_only: bool = True
    checked: tuple[str, ...] | None = None
    """The arguments that the server checks, if another part checks and records the others."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments that clients get."""
        return client_schema(self.parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, with all that is known of them."""
        return {"type": "object", "properties": self.properties, "required": self.required}

    @property
    def strict_schema(self) -> dict[str, Any]:
        """The schema that arguments are checked with: unknown names are errors.

        So are texts and lists that cannot be passed to a program or name a file.
        """
        names = self.properties if self.checked is None else self.checked
        limited = {name: _limited(self.properties[name]) for name in names}
        required = [name for name in self.required if name in limited]
        schema = {**self.parameters, "properties": limited, "required": required}
        return schema if self.checked else {**schema, "additionalProperties": False}

    @property
    def call(self) -> str:
        """The call, such as `context(name, budget?)`, for error messages."""
        optional = [f"{name}?" for name in self.properties if name not in self.required]
        return f"{self.name}({', '.join((*self.required, *optional))})"


def _limited(schema: dict[str, Any]) -> dict[str, Any]:
    match schema.get("type"):
        case "string":
            return {"maxLength": MAX_TEXT, **schema, "pattern": r"\A[^\0]*\Z"}
        case "array":
            # in this order: the first error counts, so items of a list that is too long are not read
            return {"type": "array", "maxItems": MAX_ITEMS, "items": _limited(schema["items"])}
    return schema


CONTEXT = ToolSpec(
    "context",
    "Get what you must know before you change a Python function, class or module: its source, what "
    "it uses and calls, each caller's line, and the tests that run it. It replaces grep and reading "
    "files. Links have a tier: exact, inferred, unique or possible.",
    {"name": _NAME, "budget": {**_COUNT, "minimum": 200, "maximum": 6000, "description": "tokens"}},
    ("name",),
)
_EDIT = {
    "type": "object",
    "properties": {"old": {**_TEXT, "description": "text that is there once"}, "new": _TEXT},
    "required": ["old", "new"],
}
VERIFY_EDIT = ToolSpec(
    "verify_edit",
    "Judge an edit of a file before you write it: checks that get worse, docstrings made wrong, "
    "tests that cannot fail, lines that no test notices. `apply` writes it if nothing is said "
    "against it.",
    {"path": _TEXT, "edits": {"type": "array", "items": _EDIT}, "apply": _FLAG},
    ("path", "edits"),
    is_read_only=False,
)
IMPACT = ToolSpec(
    "impact",
    "Get what a change of a function or of files (default: the files against HEAD) concerns: calls "
    "that no longer fit, other callers, overrides, docs, and the pytest command of the nearest tests, "
    "which `run` runs.",
    {
        "name": _NAME,
        "diff": {**_TEXT, "maxLength": MAX_DIFF, "description": "unified diff"},
        "budget": {**_COUNT, "minimum": 200, "maximum": 6000, "description": "tokens"},
        "run": _FLAG,
    },
)
BUDGET = 1500
"""Tokens of an answer of `context` if the client does not say how many."""
HUB_CALLERS = ToolSpec(
    "hub_callers",
    "Page through all callers of a symbol (or its callees or tests), also indirect ones, such as "
    "before you change a signature.",
    {
        "name": _NAME,
        "kind": {"enum": ["callers", "callees", "tests"]},
        "depth": {**_COUNT, "maximum": 20},
        **_PAGE,
    },
    ("name",),
)
HUB_SEARCH = ToolSpec(
    "hub_search",
    "Find symbols whose path or name contains all words, if you do not know the name.",
    {"query": _TEXT, **_PAGE},
    ("query",),
)
RUNS = ToolSpec(
    "runs",
    "List Remora's runs, newest first; with `run` (an ID or last), its jobs with agent IDs, "
    "statuses and errors. Call it to learn what Remora proposed or why jobs failed.",
    {"run": _TEXT, "status": {"enum": list(STATUSES)}, **_PAGE},
)
TRACE_PACKET = ToolSpec(
    "trace_packet",
    "Get the packet that an agent's model saw at a turn (default: last), to find out what it knew.",
    {"agent": {**_TEXT, "description": "agent ID from runs, or a function"}, "turn": _INDEX},
    ("agent",),
)
_SECONDS = {"type": "number", "minimum": 0.001, "maximum": 100_000_000}
_OPERATIONS = [operation.name for operation in BUILT_IN.all]
ANALYZE = ToolSpec(
    "analyze",
    "Run Remora's agents on private copies after you edited Python files, and list their verified "
    "changes. Files stay as they are until a person accepts.",
    {
        "paths": {"type": "array", "items": _TEXT},
        "operations": {"type": "array", "items": {"enum": _OPERATIONS}},
        "changed": {**_TEXT, "description": "only symbols that differ from this git rev"},
        "max_time": {**_SECONDS, "description": "seconds"},
    },
    is_read_only=False,
)
JUDGE_CHANGE = ToolSpec(
    "judge_change",
    "Judge a change (default: the files against HEAD) when you think that it is done: tests that "
    "cannot fail or repeat another one, changed lines that no test notices, docstrings made wrong, "
    "checks that got worse.",
    {
        "revisions": {**_TEXT, "description": "REV..REV, REV...REV or REV"},
        "diff": {**_TEXT, "maxLength": MAX_DIFF, "description": "unified diff to judge"},
        "staged": _FLAG,
        "static": {**_FLAG, "description": "run no code: seconds instead of minutes"},
    },
)


_KINDS = {str: "string", list: "array", dict: "object", float: "number", int: "integer"}
_KINDS |= {bool: "boolean", type(None): "null"}
_BROADEST = tuple(_KINDS.values())
"""Types from the one in which most can be said. A text is what clients write for any value."""


def client_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for clients, with one type and without words that some of them refuse."""
    kind, schema = _one_kind(schema)
    made: dict[str, Any] = {"type": "string" if kind == "null" else kind}
    made |= {word: schema[word] for word in ("minimum", "maximum") if word in schema}
    told = [schema.get("description", "").strip()]
    values = [value for value in schema.get("enum", ()) if value is not None]
    if values and all(value and isinstance(value, str) for value in values):
        made["enum"] = values
    elif values:
        told.append(f"one of {', '.join(map(json.dumps, values))}")
    if schema.get("default") not in (None, ""):
        told.append(f"default {json.dumps(schema['default'])}")
    if kind == "array":
        made["items"] = client_schema(schema.get("items", {}))
    if kind == "object" and (parts := schema.get("properties")) is not None:
        made["properties"] = {name: client_schema(part) for name, part in parts.items()}
        made |= {"required": [*required]} if (required := schema.get("required")) else {}
    return made | ({"description": text} if (text := "; ".join(filter(None, told))) else {})


def _one_kind(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the type that clients get, and the schema of its values."""
    branches = [_one_kind(branch) for branch in schema.get("anyOf", ())]
    kinds: Any = [kind for kind, _ in branches] or schema.get("type")
    kinds = kinds or [_KINDS[type(value)] for value in schema.get("enum", [""])]
    kind = min([kinds] if isinstance(kinds, str) else kinds, key=_BROADEST.index)
    alike = [branch for branch_kind, branch in branches if branch_kind == kind]
    return kind, {**schema, **alike[0]} if len(alike) == 1 else schema
