"""The Python files of a base, and what agents can read of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from remora.agents.definition.agent_yaml import OWN_FOLDER
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.code.syntax.source import Unreadable
from remora.forks import map_in_processes
from remora.python_text import ONLY_COUNTED, is_only_counted
from remora.text import count, too_large
from remora.tools.file_tree import TEXT_LIMIT
from remora.tools.host.ruff.config_files import SETTINGS
from remora.tools.host.ruff.newer_syntax import newer_syntax

_AGENTS_FOLDER = f"{OWN_FOLDER.parts[0]}/"
"""Folder of a project's agents and their tests. No jobs are planned for files in it."""
_UTF8 = frozenset({"utf-8", "utf-8-sig", "ascii"})
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The selected files of a base, divided into parsed modules and unreadable files."""

    modules: tuple[Module, ...]
    unreadable: tuple[dict[str, Any], ...]


def read_modules(tree: Path, paths: Iterable[str], wanted: Sequence[str]) -> Source:
    """Parse the Python files of a tree that `wanted` selects, and collect the unreadable files.

    `wanted` contains root-relative files and folders. If it is empty, all files are selected.
    Notebooks and stubs are one entry each of the unreadable files, with their number.
    """
    counted = Counter[str]()
    modules: list[Module] = []
    unreadable: list[dict[str, Any]] = []
    selected = [path for path in paths if _selected(path, wanted)]
    counted.update(PurePath(path).suffix.lower() for path in selected if is_only_counted(path))
    python = [path for path in selected if path.endswith(".py")]
    for module in map_in_processes(lambda part: [_module(tree, path) for path in part], python):
        if isinstance(module, Module):
            modules.append(module)
        else:
            unreadable.append({"path": module.path, "detail": module.detail})
    newer = newer_syntax(tree, [file["path"] for file in unreadable])
    for file in unreadable:
        file["detail"] = newer.get(file["path"], file["detail"])
    for suffix, number in counted.items():
        kind, verb = ONLY_COUNTED[suffix]
        detail = f"{count(number, kind)}, which Remora does not {verb}"
        unreadable.append({"path": f"*{suffix}", "detail": detail})
    return Source(modules=tuple(modules), unreadable=tuple(unreadable))


def with_reasons(source: Source, reasons: Mapping[str, str]) -> Source:
    """Return the source with the reasons why files could not be copied, by path.

    Settings of ruff that could not be copied are added, because nothing else reports them.
    """
    unreadable = [
        {**file, "detail": reasons.get(file["path"], file["detail"])} for file in source.unreadable
    ]
    unreadable += [
        {"path": path, "detail": detail}
        for path, detail in reasons.items()
        if path.rpartition("/")[2] in SETTINGS
    ]
    return msgspec.structs.replace(source, unreadable=tuple(unreadable))


def _selected(path: str, wanted: Sequence[str]) -> bool:
    if path.startswith(_AGENTS_FOLDER):
        return False
    return not wanted or any(
        path == part or part in ("", ".") or path.startswith(part.rstrip("/") + "/")
        for part in wanted
    )


def _module(tree: Path, path: str) -> Module | Unreadable:
    """Parse a module. Return an Unreadable with the reason if agents cannot work on it.

    Tools can read only UTF-8 files up to a maximum size.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "backslashreplace").decode()
        return Unreadable(path=shown, detail="its name is not UTF-8")
    try:
        size = (tree / path).stat().st_size
        if size > TEXT_LIMIT:
            return Unreadable(path=path, detail=too_large(size, TEXT_LIMIT))
        source = (tree / path).read_bytes()
        found = parse_module(path, source)
    except FileNotFoundError:  # the file is in the project but could not be copied
        return Unreadable(path=path, detail="it cannot be read")
    except OSError as error:
        return Unreadable(path=path, detail=error.strerror or str(error))
    if isinstance(found, Module) and found.encoding not in _UTF8:
        return Unreadable(path=path, detail=f"its encoding is {found.encoding}, not UTF-8")
    if isinstance(found, Unreadable) and source.startswith(_LFS_POINTER):
        found = Unreadable(path=path, detail="a pointer of Git LFS; fetch it with `git lfs pull`")
    return found
