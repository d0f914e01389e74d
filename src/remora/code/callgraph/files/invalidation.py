"""Which inputs a change of files touches."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from remora.code.callgraph.files.answer_inputs import (
    ALIAS,
    BODY,
    CROWD,
    CROWDS,
    EVERYTHING,
    FOLDER,
    MENTIONS,
    MODULE,
    OUTLINE,
    STAR,
    STARS,
    bit,
)
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.files.module_interface import outline
from remora.code.callgraph.files.program_protocol import Program
from remora.code.ir.model import LoweredFile, unqualified_name

_MANY = 200
"""Changed files from which everything is taken for touched: to tell costs as much as to link."""


class _Change(NamedTuple):
    path: str
    before: LoweredFile | None
    now: LoweredFile | None


def touched(program: Program, before: Mapping[str, LoweredFile | None]) -> int:
    """The inputs that are other in `program` than they were when its files were as in `before`,
    which holds the changed ones; None: it was not there.

    Whatever was found from inputs that are not among them holds still. A file in which only lines
    moved touches nothing.
    """
    if len(before) > _MANY:
        return EVERYTHING
    changes = [_Change(path, old, program.lowered(path)) for path, old in before.items()]
    moved = [c.path for c in changes if (c.before is None) != (c.now is None)]
    if any(path.rpartition("/")[2] == "__init__.py" for path in moved):
        return EVERYTHING  # it may say where every import begins
    found = 0
    for part in (_of_files(changes), _of_mentions(program, changes), _of_modules(program, moved)):
        for each in part:
            found |= each
    return found


def _of_files(changes: Sequence[_Change]) -> Iterator[int]:
    for path, before, now in changes:
        if _without_lines(before) == _without_lines(now):
            continue
        yield bit(BODY, path)
        if outline(before) != outline(now):
            yield bit(OUTLINE, path)
        if _taken(before) != _taken(now):
            yield bit(STARS)
        for name in _public(before) ^ _public(now):
            yield bit(STAR, name)
        old, new = _aliases(before), _aliases(now)
        for name in old.keys() | new.keys():
            if old.get(name) != new.get(name):
                yield bit(ALIAS, name)


def _of_mentions(program: Program, changes: Sequence[_Change]) -> Iterator[int]:
    more: Counter[str] = Counter()
    less: Counter[str] = Counter()
    for _, before, now in changes:
        old = frozenset(before.names if before else ())
        new = frozenset(now.names if now else ())
        more.update(new - old)
        less.update(old - new)
    for name in more.keys() | less.keys():
        yield bit(MENTIONS, name)
        count = len(program.mentioning(name))
        earlier = count - more[name] + less[name]
        for most in CROWDS:
            if (count > most) != (earlier > most):
                yield bit(CROWD, f"{most} {name}")


def _of_modules(program: Program, moved: Collection[str]) -> Iterator[int]:
    """What files that came or went are called, and folders that came or went with them."""
    if not moved:
        return
    stayed = {folder for path in set(program.paths()).difference(moved) for folder in _around(path)}
    for path in moved:
        folder, _, file = path.rpartition("/")
        stem = file.removesuffix(".py")
        yield bit(FOLDER, folder)
        yield bit(MODULE, stem)
        for gone_or_new in (each for each in _around(path) if each not in stayed):
            yield bit(MODULE, gone_or_new.rpartition("/")[2])
        for other in program.mentioning(stem):
            lowered = program.lowered(other)
            sources = (*lowered.stars, *given_on(lowered)) if lowered is not None else ()
            if any(unqualified_name(dotted) == stem for _, dotted in sources):
                yield bit(STARS)


def _around(path: str) -> Iterator[str]:
    """All folders in which the file lies."""
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _taken(lowered: LoweredFile | None) -> Any:
    """From where everything is taken, and what of that is given on."""
    if lowered is None:
        return [], []
    return [tuple(star) for star in lowered.stars], [tuple(each) for each in given_on(lowered)]


def given_on(lowered: LoweredFile) -> Sequence[tuple[int, str]]:
    """(level, module) of those whose names `import *` of it gives too."""
    if lowered.exports is None:
        return lowered.stars
    return [each for each in lowered.exports if not isinstance(each, str)]


def _public(lowered: LoweredFile | None) -> frozenset[str]:
    if lowered is None or not lowered.scopes:
        return frozenset()
    return frozenset(public(lowered))


def public(lowered: LoweredFile) -> Collection[str]:
    """What `import *` of it gives, but for what it is given so itself."""
    if lowered.exports is not None:
        return [each for each in lowered.exports if isinstance(each, str)]
    return [name for name in lowered.scopes[0].binds if not name.startswith("_")]


def _aliases(lowered: LoweredFile | None) -> Mapping[str, Collection[str]]:
    return {} if lowered is None or not lowered.scopes else File(lowered).aliases


def _without_lines(lowered: LoweredFile | None) -> LoweredFile | None:
    if lowered is None:
        return None
    replace = msgspec.structs.replace
    return replace(
        lowered,
        scopes=tuple(replace(scope, line=0) for scope in lowered.scopes),
        calls=tuple(replace(call, line=0) for call in lowered.calls),
        reads=tuple(replace(read, line=0) for read in lowered.reads),
        stores=tuple(replace(store, line=0) for store in lowered.stores),
    )
