"""Arguments of calls as clients write them: values in texts, and paths in the spellings of editors."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from os.path import normpath, realpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from remora.chat import ToolSchema
from remora.errors import UsageError
from remora.mcp.tool_list import MAX_ITEMS, ToolSpec
from remora.models.decoding.argument_types import read_value, typed_arguments
from remora.models.decoding.call_validation import BadCall
from remora.models.decoding.native_calls import read_arguments
from remora.text import is_utf8

_ADDRESS = re.compile(r"\A(?:file:(?://(?:localhost)?)?/|(?=[A-Za-z]:[\\/]))")
"""The beginning of an address of a file, or of a path with a drive."""
_LINE = re.compile(r"#L(\d+).*")


async def with_arguments(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Handle a request, whose arguments may be written as one text."""
    match ctx.params:
        case {"arguments": str() | [] as text}:
            with suppress(BadCall):
                arguments = read_arguments(text, read_value)
                ctx = replace(ctx, params={**(ctx.params or {}), "arguments": arguments})
    return await call_next(ctx)


def read_values(given: Mapping[str, Any], tool: ToolSpec) -> Mapping[str, Any]:
    """Return arguments with values of the types of the tool in place of texts of such values.

    Those that another part reads are as they came. Raises UsageError if they cannot be passed on.
    """
    try:
        schema = ToolSchema(name=tool.name, parameters=tool.parameters)
        lists = {name: value for name, value in given.items() if isinstance(value, list)}
        long = {name: items for name, items in lists.items() if len(items) > MAX_ITEMS}
        short = {name: value for name, value in given.items() if name not in long}
        read = given if tool.checked else {**long, **typed_arguments(short, schema)}
        json.dumps(read, ensure_ascii=False).encode()
    except (RecursionError, UnicodeEncodeError) as error:
        raise UsageError("deep nesting or a lone surrogate", hint=f"call {tool.call}") from error
    return read


def place_paths(given: Mapping[str, Any], tool: ToolSpec, root: Path) -> dict[str, Any]:
    """Return arguments in which the paths of files and nodes are relative to the project's root.

    Raises UsageError if one that cannot be anything else is outside the root.
    """
    paths = {"path", "paths"} if tool.checked else {"path", "paths", "name", "agent", "query"}
    strict = {} if tool.checked else paths - {"query"}
    return {
        name: _placed(value, root, is_path=name in strict) if name in paths else value
        for name, value in given.items()
    }


def _placed(value: Any, root: Path, *, is_path: bool) -> Any:
    r"""Return a path, or `PATH:REST`, relative to the root, also if it is absolute or has `.` or `\`.

    An address such as `file:///shop/cart.py#L3` becomes `cart.py:3`.
    """
    if isinstance(value, list):
        return [_placed(item, root, is_path=is_path) for item in value]
    if not isinstance(value, str) or "\0" in value or not is_utf8(value):
        return value
    plain = _ADDRESS.sub("/", value)
    if plain != value:
        plain = _LINE.sub(r":\1", unquote(plain))
    beginning = "/+".join(map(re.escape, ("", *root.parts[1:], "")))  # the root may have a colon
    path, mark, rest = re.sub(rf"\A{beginning}", "", plain).partition(":")
    whole = Path(normpath(root / path.replace("\\", "/")))
    place = whole if whole.is_relative_to(root) else Path(realpath(whole))
    if path and place.is_relative_to(root):
        return f"{place.relative_to(root).as_posix()}{mark}{rest}"
    if path and is_path:
        raise UsageError(f"{value} is outside the project", hint="give a path in the project")
    return value
