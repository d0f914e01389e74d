"""Lookup of a method whose name is unique in the project, for receivers of unknown type."""

from remora.code.callgraph.analysis_context import Context
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE
from remora.ids import node_key

EXTERNAL_METHOD_NAMES = frozenset(
    name
    for kind in (str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset)
    for name in dir(kind)
) | frozenset(
    [
        "read",
        "write",
        "close",
        "open",
        "send",
        "recv",
        "flush",
        "seek",
        "readline",
        "readlines",
        "writelines",
        "fileno",
        "run",
        "start",
        "stop",
        "join",
        "put",
        "acquire",
        "release",
        "wait",
        "notify",
        "set",
        "clear",
        "get",
        "post",
        "delete",
        "patch",
        "head",
        "request",
        "execute",
        "commit",
        "rollback",
        "fetchone",
        "fetchall",
        "cursor",
        "connect",
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "critical",
        "log",
        "exists",
        "mkdir",
        "unlink",
        "rename",
        "match",
        "search",
        "fullmatch",
        "group",
        "groups",
        "finditer",
        "findall",
        "sub",
        "appendleft",
        "popleft",
        "most_common",
        "elements",
        "submit",
        "result",
        "done",
        "cancel",
        "shutdown",
        "name",
        "getvalue",
        "getbuffer",
        "readinto",
        "truncate",
        "read_text",
        "write_text",
        "read_bytes",
        "write_bytes",
        "is_file",
        "is_dir",
        "is_symlink",
        "iterdir",
        "touch",
        "rmdir",
        "glob",
        "rglob",
        "stat",
        "resolve",
    ]
)
"""Method names of builtins and common libraries. Their unknown receivers may be external."""


def unique_method(ctx: Context, name: str) -> str | None:
    """Return the key of the only method called `name`, or None if there is not exactly one.

    Special methods and names that are common in external code are never considered unique.
    """
    if name in EXTERNAL_METHOD_NAMES or name.startswith("__"):
        return None
    paths = ctx.mentioning(f"def {name}")
    if len(paths) != 1:
        return None
    path = next(iter(paths))
    if (file := ctx.file(path)) is None:
        return None
    found = [s for s in file.scopes if s.name == name and s.kind in {CLASS_SCOPE, FUNCTION_SCOPE}]
    if len(found) != 1 or found[0].kind != FUNCTION_SCOPE:
        return None
    if file.scopes[found[0].parent].kind != CLASS_SCOPE:
        return None
    return node_key(path, found[0].qualname)
