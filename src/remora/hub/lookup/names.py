"""Parsing of names that users type.

A name may be a key, a path, a dotted name or its last parts, a pytest id, a call, or a line of a
file.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from remora.ids import MODULE, STUB, escape_path, module_path, node_key, split_node_key

_BETWEEN = re.compile(r"[\s:./]+")
_PACKAGE = ".__init__"
_SOURCES = "src."
_CALL = re.compile(r"\(.*\)$", re.DOTALL)
_ENTRY_POINT = re.compile(r"(?!node:)[\w.]+(?<!\.py)(?<!\.pyi):[A-Za-z_][\w.]*")
_LINE = re.compile(r"(?P<path>.+\.pyi?):(?P<line>[1-9]\d{0,8})(?::\d+)?:?")


def as_key(name: str) -> str:
    """Convert a pytest id or a call to the form of a key.

    For example, `a.py::TestX::test_y[1-2]` becomes `a.py:TestX.test_y`. An entry point such as
    `shop.cart:Cart.total` becomes a dotted name.
    """
    path, separator, inside = name.partition(".py::")
    if separator:
        return f"{path}.py:{inside.partition('[')[0].replace('::', '.')}"
    plain = _CALL.sub("", name) or name
    return plain.replace(":", ".") if _ENTRY_POINT.fullmatch(plain) else plain


def line_named(name: str) -> tuple[str, int] | None:
    """Parse `path.py:116`, with an optional column. Return None for any other name."""
    found = _LINE.fullmatch(name.removeprefix("node:"))
    return None if found is None else (found["path"], int(found["line"]))


def full_keys(name: str, root: Path, folder: Path) -> Sequence[str]:
    """Return the possible keys for `name`, most likely first.

    `name` may contain a path relative to `folder`.
    """
    path, qualname = split_name(name)
    relative = _path_below_root(path, root, folder)
    paths = [path, escape_path(path)] if relative is None else [path, escape_path(path), relative]
    if path.startswith(("./", "../")):
        paths.reverse()
    return list(dict.fromkeys(node_key(path, qualname) for path in paths if path))


def queries(name: str, keys: Iterable[str]) -> Iterator[str]:
    """Return search queries that find the nodes to which `name` may refer.

    `keys` contains the possible full keys for `name`.
    """
    plain = name.removeprefix("node:")
    names = (plain, *(key.removeprefix("node:") for key in keys))
    words = (" ".join(_BETWEEN.split(text.removesuffix(f":{MODULE}"))).strip() for text in names)
    return iter(dict.fromkeys(words))


def matching_keys(name: str, keys: Iterable[str]) -> list[str]:
    """Return the keys that best match `name`.

    The keys are compared by qualname, then by dotted name, then by the last parts of the dotted
    name. Keys in stubs match only if no others do.
    """
    found = _all_matching(name, list(keys))
    return [key for key in found if not split_node_key(key)[0].endswith(STUB)] or found


def _all_matching(name: str, known: list[str]) -> list[str]:
    plain = name.removeprefix("node:")
    path, _, qualname = plain.rpartition(":")
    if path:
        near = [key for key in known if f"/{split_node_key(key)[0]}".endswith(f"/{path}")]
        return _keys_named(near, qualname) or [key for key in near if key.endswith(f".{qualname}")]
    dotted = {key: _dotted_name(key) for key in known}
    tried = (
        _keys_named(known, plain),
        [key for key in known if dotted[key] in (plain, _SOURCES + plain)],
        [key for key in known if dotted[key].endswith(f".{plain}")],
    )
    return next(filter(None, tried), [])


def split_name(name: str) -> tuple[str, str]:
    """Split a name into path and qualname. A name without `:` is a path."""
    path, _, qualname = name.removeprefix("node:").rpartition(":")
    return (path, qualname) if path else (qualname, MODULE)


def _path_below_root(path: str, root: Path, folder: Path) -> str | None:
    """Convert a path typed in `folder` to the form used in keys.

    Returns None if the path is outside the root.
    """
    try:
        typed = os.path.abspath(folder / path)  # noqa: PTH100 (the path may be missing, or a link)
        for place in (typed, os.path.realpath(typed)):
            if Path(place).is_relative_to(root):
                return escape_path(Path(place).relative_to(root).as_posix())
    except ValueError:  # NUL in the path
        pass
    return None


def _keys_named(keys: Iterable[str], qualname: str) -> list[str]:
    return [key for key in keys if split_node_key(key)[1] == qualname]


def _dotted_name(key: str) -> str:
    path, qualname = split_node_key(key)
    module = module_path(path).removesuffix(".py").replace("/", ".").removesuffix(_PACKAGE)
    return module if qualname == MODULE else f"{module}.{qualname}"
