"""Read a name: a key, a path, dots, the end of one, a pytest id, a call or a line of a file."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from remora.ids import MODULE, node_key, spell_path, split_node_key

_BETWEEN = re.compile(r"[\s:./]+")
_PACKAGE = ".__init__"
_SOURCES = "src."
_CALL = re.compile(r"\(.*\)$", re.DOTALL)
_LINE = re.compile(r"(?P<path>.+\.pyi?):(?P<line>[1-9]\d{0,8})(?::\d+)?:?")


class AtLine(NamedTuple):
    """A line of a file, as an error message or an editor names it."""

    path: str
    line: int


def unpasted(name: str) -> str:
    """The name as a key would have it: `a.py::TestX::test_y[1-2]` is `a.py:TestX.test_y`, and a
    trailing call is left out."""
    path, separator, inside = name.partition(".py::")
    if separator:
        return f"{path}.py:{inside.partition('[')[0].replace('::', '.')}"
    return _CALL.sub("", name) or name


def line_named(name: str) -> AtLine | None:
    """The line that `path.py:116` means (a column may follow); None for another name."""
    found = _LINE.fullmatch(name.removeprefix("node:"))
    return None if found is None else AtLine(found["path"], int(found["line"]))


def whole_keys(name: str, root: Path, folder: Path) -> Sequence[str]:
    """The keys that `name` may be in full, the likeliest first.

    It is read as the key spells it, as a path below `root`, and as a path that a shell in `folder`
    knows: relative to there, or absolute.
    """
    path, qualname = parted(name)
    below = _below(path, root, folder)
    paths = [path, spell_path(path)] if below is None else [path, spell_path(path), below]
    if path.startswith(("./", "../")):
        paths.reverse()
    return list(dict.fromkeys(node_key(each, qualname) for each in paths if each))


def queries(name: str, keys: Iterable[str]) -> Iterator[str]:
    """What finds the nodes that `name` may mean, `keys` being those that it may be in full."""
    plain = name.removeprefix("node:")
    asked = (plain, *(key.removeprefix("node:") for key in keys))
    words = (" ".join(_BETWEEN.split(each.removesuffix(f":{MODULE}"))).strip() for each in asked)
    return iter(dict.fromkeys(words))


def called_so(name: str, keys: Iterable[str]) -> list[str]:
    """Those of `keys` that `name` means best: by qualname, then by all its dots, then by how their
    paths and names end."""
    plain = name.removeprefix("node:")
    known = list(keys)
    path, _, qualname = plain.rpartition(":")
    if path:
        near = [key for key in known if f"/{split_node_key(key)[0]}".endswith(f"/{path}")]
        return _named(near, qualname) or [key for key in near if key.endswith(f".{qualname}")]
    dotted = {key: _dotted(key) for key in known}
    tried = (
        _named(known, plain),
        [key for key in known if dotted[key] in (plain, _SOURCES + plain)],
        [key for key in known if dotted[key].endswith(f".{plain}")],
    )
    return next((found for found in tried if found), [])


def parted(name: str) -> tuple[str, str]:
    """The path and the qualname that a name would be in full; without `:` it is a path."""
    path, _, qualname = name.removeprefix("node:").rpartition(":")
    return (path, qualname) if path else (qualname, MODULE)


def _below(path: str, root: Path, folder: Path) -> str | None:
    """A path as somebody in `folder` types it, as it is spelled in keys; None: it leads out."""
    try:
        typed = os.path.abspath(folder / path)  # noqa: PTH100 (what it names may be gone, or a link)
        for place in (typed, os.path.realpath(typed)):
            if Path(place).is_relative_to(root):
                return spell_path(Path(place).relative_to(root).as_posix())
    except ValueError:  # NUL
        pass
    return None


def _named(keys: Iterable[str], qualname: str) -> list[str]:
    return [key for key in keys if split_node_key(key)[1] == qualname]


def _dotted(key: str) -> str:
    """As an import and what follows it would spell a node."""
    path, qualname = split_node_key(key)
    module = path.removesuffix(".py").replace("/", ".").removesuffix(_PACKAGE)
    return module if qualname == MODULE else f"{module}.{qualname}"
