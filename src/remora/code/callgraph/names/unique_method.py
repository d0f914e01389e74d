"""The only method of a name in the whole project, for receivers of which nothing is known."""

from remora.code.callgraph.context import Context
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE
from remora.ids import node_key

KNOWN_ELSEWHERE = frozenset(
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

"""Names of methods that values from outside the project have as well."""


def only_definition(ctx: Context, name: str) -> str | None:
    """Its key; None where there is none, more than one, or the outside uses the name too."""
    if name in KNOWN_ELSEWHERE or name.startswith("__"):
        return None
    paths = ctx.mentioning(f"def {name}")
    if len(paths) != 1:
        return None
    path = next(iter(paths))
    file = ctx.file(path)
    found = [
        scope
        for scope in (file.scopes if file is not None else ())
        if scope.name == name and scope.kind in {CLASS_SCOPE, FUNCTION_SCOPE}
    ]
    if file is None or len(found) != 1 or found[0].kind != FUNCTION_SCOPE:
        return None
    if file.scopes[found[0].parent].kind != CLASS_SCOPE:
        return None
    return node_key(path, found[0].qualname)
