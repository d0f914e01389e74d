"""The tools of the server: names, descriptions and arguments.

The descriptions are read by models, which pay for each token: they say when to call a tool and what
its answer means, and nothing else.
"""

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
_NAME = {"type": "string", "description": "path:qualname, Class.method, dotted name or path:LINE"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}
_OFFSET = {"type": "integer", "minimum": 0}


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
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        return {**schema, "required": list(self.required)} if self.required else schema

    @property
    def strict_schema(self) -> dict[str, Any]:
        """The schema that arguments are checked with: unknown names are errors.

        So are texts and lists that cannot be passed to a program or name a file.
        """
        names = self.properties if self.checked is None else self.checked
        limited = {name: _limited(self.properties[name]) for name in names}
        required = [name for name in self.required if name in limited]
        is_closed = self.checked is None
        return {
            "type": "object",
            "properties": limited,
            "required": required,
            **({"additionalProperties": False} if is_closed else {}),
        }

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
    {
        "name": _NAME,
        "budget": {
            "type": "integer",
            "minimum": 200,
            "maximum": 6000,
            "description": "tokens",
        },
    },
    ("name",),
)
VERIFY_EDIT = ToolSpec(
    "verify_edit",
    "Judge an edit of a file before you write it: checks that get worse, docstrings made wrong, "
    "tests that cannot fail, lines that no test notices. `apply` writes it if nothing is said "
    "against it.",
    {
        "path": {"type": "string"},
        "edits": {
            "type": "array",
            "maxItems": MAX_ITEMS,
            "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "string", "description": "text that is there once"},
                    "new": {"type": "string"},
                },
                "required": ["old", "new"],
            },
        },
        "apply": {"type": "boolean"},
    },
    ("path", "edits"),
    is_read_only=False,
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
        "depth": {"type": "integer", "minimum": 1, "maximum": 20},
        "limit": _LIMIT,
        "offset": _OFFSET,
    },
    ("name",),
)
HUB_SEARCH = ToolSpec(
    "hub_search",
    "Find symbols whose path or name contains all words, if you do not know the name.",
    {"query": {"type": "string"}, "limit": _LIMIT, "offset": _OFFSET},
    ("query",),
)
RUNS = ToolSpec(
    "runs",
    "List Remora's runs, newest first; with `run` (an ID or last), its jobs with agent IDs, "
    "statuses and errors. Call it to learn what Remora proposed or why jobs failed.",
    {
        "run": {"type": "string"},
        "status": {"enum": list(STATUSES)},
        "limit": _LIMIT,
        "offset": _OFFSET,
    },
)
TRACE_PACKET = ToolSpec(
    "trace_packet",
    "Get the packet that an agent's model saw at a turn (default: last), to find out what it knew.",
    {
        "agent": {"type": "string", "description": "agent ID from runs, or a function"},
        "turn": {"type": "integer", "minimum": 0},
    },
    ("agent",),
)
_OPERATIONS = [each.name for each in BUILT_IN.all]
ANALYZE = ToolSpec(
    "analyze",
    "Run Remora's agents on private copies after you edited Python files, and list their verified "
    "changes. Files stay as they are until a person accepts.",
    {
        "paths": {"type": "array", "items": {"type": "string"}},
        "operations": {"type": "array", "items": {"enum": _OPERATIONS}},
        "changed": {"type": "string", "description": "only symbols that differ from this git rev"},
        "max_time": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 100_000_000,
            "description": "seconds",
        },
    },
    is_read_only=False,
)
JUDGE_CHANGE = ToolSpec(
    "judge_change",
    "Judge a change (default: the files against HEAD) when you think that it is done: tests that "
    "cannot fail or repeat another one, changed lines that no test notices, docstrings made wrong, "
    "checks that got worse.",
    {
        "revisions": {"type": "string", "description": "REV..REV, REV...REV or REV"},
        "diff": {"type": "string", "maxLength": MAX_DIFF, "description": "unified diff to judge"},
        "staged": {"type": "boolean"},
        "static": {"type": "boolean", "description": "run no code: seconds instead of minutes"},
    },
)
