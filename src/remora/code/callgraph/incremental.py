"""Tracking of inputs, so that a change invalidates only the answers that depend on a changed input.

Everything that the linker reads from a program is an input, such as a whole file, its interface, or
the set of files that mention a name. A set of inputs is an integer with one bit per input. To keep
the sets small, inputs may share a bit. Such a collision costs time, but the results stay correct.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args
from zlib import crc32

import msgspec

from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.files.program_protocol import Program, linked_files, unlinked_stubs
from remora.code.ir.model import FUNCTION_SCOPE, Binding, LoweredFile, Scope, unqualified_name
from remora.ids import module_path, split_node_key

_encode = msgspec.msgpack.Encoder().encode
INPUT_BITS = 4096
ALL_INPUTS = (1 << INPUT_BITS) - 1

# Kinds of inputs. Each comment starts with the name that an input of this kind needs.
# The strings are hashed into stored bits, so they must not change.
BODY = "body"  # path: everything in the file
INTERFACE = "outline"  # path: everything outside functions, see `interface`
MENTIONS = "mentions"  # name: the files that mention it
MENTION_COUNT = "crowd"  # limit and name: True if more files than the limit mention the name
ALIAS = "alias"  # name: the names that files import it as
STAR_NAME = "star"  # name: the files whose `import *` provides it
STAR_MODULES = "stars"  # no name: the modules that are imported by `import *`
MODULE = "module"  # last part of a dotted name: the modules with that name
ALIASES_OF = "carriers"  # key: the names that reach a node, see `Linker.alias_digest`
FOLDER = "folder"  # path: the files in it

MentionLimit = Literal[0, 12, 24, 32, 48, 64, 120, 128, 256]
"""The limits that rules may use for file counts. No other limit is checked when counts change."""
MENTION_LIMITS: tuple[MentionLimit, ...] = get_args(MentionLimit)

_MAX_CHANGED_FILES = 200
"""If more files change, all inputs count as changed, as comparing would take as long as linking."""


@lru_cache(maxsize=1 << 16)
def input_bit(kind: str, name: str = "") -> int:
    """Return the set that contains only this input. The value is the same in every process."""
    return 1 << (crc32(f"{kind} {name}".encode("utf-8", "surrogatepass")) % INPUT_BITS)


class AliasDigest(NamedTuple):
    """A hash of all names that may refer to a node, and the inputs from which it was computed."""

    names: bytes
    inputs: int


def invalidated(
    program: Program,
    alias_digest: Callable[[str], AliasDigest],
    before: Mapping[str, LoweredFile | None],
    digests: Mapping[str, AliasDigest],
) -> tuple[int, dict[str, AliasDigest]]:
    """Return the changed inputs and the recomputed digests.

    `before` maps the path of each changed file to its old state, or to None if the file is new.
    `digests` contains the digests from before the change. The links of a node are still valid if
    its file is unchanged and its inputs include none of the returned inputs.
    """
    changed = changed_inputs(program, before)
    recomputed: dict[str, AliasDigest] = {}
    for key, known in digests.items():
        if known.inputs & changed or split_node_key(key)[0] in before:
            recomputed[key] = alias_digest(key)
    for key, now in recomputed.items():
        if now.names != digests[key].names:
            changed |= input_bit(ALIASES_OF, key)
    return changed, recomputed


class _Change(NamedTuple):
    path: str
    before: LoweredFile | None
    now: LoweredFile | None


def changed_inputs(program: Program, before: Mapping[str, LoweredFile | None]) -> int:
    """Return the changed inputs.

    `before` maps the path of each changed file to its old state, or to None if the file is new.
    """
    if len(before) > _MAX_CHANGED_FILES:
        return ALL_INPUTS
    changes = [_Change(path, old, program.lowered(path)) for path, old in before.items()]
    moved = [c.path for c in changes if (c.before is None) != (c.now is None)]
    if any(module_path(path).rpartition("/")[2] == "__init__.py" for path in moved):
        return ALL_INPUTS  # an `__init__.py` can change the root of every import
    paths = frozenset(program.paths())
    stubs, stubs_before = unlinked_stubs(paths), unlinked_stubs(paths.symmetric_difference(moved))
    if (stubs ^ stubs_before).difference(moved):
        return ALL_INPUTS  # all names of a stub came or went
    program, unlinked = linked_files(program), stubs | stubs_before
    changes = [change for change in changes if change.path not in unlinked]
    moved = [path for path in moved if path not in unlinked]
    found = 0
    for changed in chain(
        _file_inputs(changes), _mention_inputs(program, changes), _module_inputs(program, moved)
    ):
        found |= changed
    return found


def _file_inputs(changes: Sequence[_Change]) -> Iterator[int]:
    for path, before, now in changes:
        old_code, new_code = _without_lines(before), _without_lines(now)
        if _encode(old_code) == _encode(new_code):
            continue
        yield input_bit(BODY, path)
        if _interface(old_code) != _interface(new_code):
            yield input_bit(INTERFACE, path)
        if _star_imports(before) != _star_imports(now):
            yield input_bit(STAR_MODULES)
        for name in _star_names(before) ^ _star_names(now):
            yield input_bit(STAR_NAME, name)
        old, new = _aliases(before), _aliases(now)
        for name in old.keys() | new.keys():
            if old.get(name) != new.get(name):
                yield input_bit(ALIAS, name)


def _mention_inputs(program: Program, changes: Sequence[_Change]) -> Iterator[int]:
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for _, before, now in changes:
        old = frozenset(before.names if before else ())
        new = frozenset(now.names if now else ())
        added.update(new - old)
        removed.update(old - new)
    for name in added.keys() | removed.keys():
        yield input_bit(MENTIONS, name)
        count = len(program.mentioning(name))
        earlier = count - added[name] + removed[name]
        for limit in MENTION_LIMITS:
            if (count > limit) != (earlier > limit):
                yield input_bit(MENTION_COUNT, f"{limit} {name}")


def _module_inputs(program: Program, moved: Collection[str]) -> Iterator[int]:
    """Yield the inputs that change when files or folders are added or removed."""
    if not moved:
        return
    unmoved = set(program.paths()).difference(moved)
    folders = {folder for path in unmoved for folder in _parent_folders(path)}
    for path in moved:
        folder, _, file = path.rpartition("/")
        stem = module_path(file).removesuffix(".py")
        yield input_bit(FOLDER, folder)
        yield input_bit(MODULE, stem)
        for parent in _parent_folders(path):
            if parent not in folders:
                yield input_bit(MODULE, parent.rpartition("/")[2])
        for other in program.mentioning(stem):
            lowered = program.lowered(other)
            sources = (*lowered.stars, *reexported_modules(lowered)) if lowered is not None else ()
            if any(unqualified_name(dotted) == stem for _, dotted in sources):
                yield input_bit(STAR_MODULES)


def _parent_folders(path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def star_names(lowered: LoweredFile) -> Collection[str]:
    """Return the names that `import *` provides, excluding names from re-exported modules."""
    if lowered.exports is not None:
        return [export for export in lowered.exports if isinstance(export, str)]
    return [name for name in lowered.scopes[0].binds if not name.startswith("_")]


def reexported_modules(lowered: LoweredFile) -> Sequence[tuple[int, str]]:
    """Return (level, module) for each module whose names the file re-exports through `import *`."""
    if lowered.exports is None:
        return lowered.stars
    return [export for export in lowered.exports if not isinstance(export, str)]


def _star_imports(lowered: LoweredFile | None) -> Any:
    """Return the modules that a file imports with `*` and the modules that it re-exports."""
    if lowered is None:
        return [], []
    return [tuple(star) for star in lowered.stars], [tuple(m) for m in reexported_modules(lowered)]


def _star_names(lowered: LoweredFile | None) -> frozenset[str]:
    return frozenset(star_names(lowered) if lowered is not None and lowered.scopes else ())


def _aliases(lowered: LoweredFile | None) -> Mapping[str, Collection[str]]:
    return {} if lowered is None or not lowered.scopes else IndexedFile(lowered).aliases


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
        loads={},  # no link depends on them
    )


def _interface(lowered: LoweredFile | None) -> bytes:
    """Return everything in a file except what is inside functions, in a form that can be compared.

    It has the classes, the headers of functions and lambdas, which functions are stubs, the
    attributes that methods assign through `self`, and the names of all base classes.
    """
    if lowered is None or not lowered.scopes:
        return b""
    file = IndexedFile(lowered)
    scopes = enumerate(file.scopes)
    kinds: Any = (lowered.calls, lowered.reads, lowered.stores, lowered.fills, lowered.containers)
    statements = lowered.statements[: lowered.outer_statements]
    classes = (file.scopes[number] for number in file.classes)
    found = (
        [_header(file, number) for number, s in scopes if file.is_module_level(s.parent)],
        [[record for record in kind if file.is_module_level(record.scope)] for kind in kinds],
        (statements, lowered.blocks[: max(statements) + 1], lowered.stars, lowered.exports),
        sorted((scope.qualname, *map(file.term_name, scope.bases)) for scope in classes),
        sorted((file.scopes[number].qualname, name) for number, name in file.self_stores),
    )
    return _encode(found)


def _header(file: IndexedFile, number: int) -> tuple[bool, Scope]:
    scope, replace = file.scopes[number], msgspec.structs.replace
    if not file.is_module_level(number):
        is_stub = scope.kind == FUNCTION_SCOPE and file.is_stub(number)
        return is_stub, replace(scope, binds={}, results=(), yields=())
    binds = {
        name: tuple(
            bind
            if file.is_module_level(bind.scope)  # otherwise without numbers of a function's body
            else Binding(bind.kind, -1, -1, _shape(bind.term), _shape(bind.extra))
            for bind in bound
        )
        for name, bound in scope.binds.items()
    }
    return False, replace(scope, binds=binds)


def _shape(term: Any) -> Any:
    if isinstance(term, list | tuple):
        return (term[0], *map(_shape, term[1:]))
    return -1 if isinstance(term, int) else term
