"""Uses of a node other than calls: by subclasses, overriders, library calls and plain references.

`Thread(target=f)` may call `f`, so the function around it is a user of kind `passed to`. The module
of `ROUTES = {"a": f}` has a `reference`. Uses are found by name. Only code outside the project, or
unknown code, is passed a node: code of the project that calls its argument is a caller.
"""

import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EXACT, INFERRED, POSSIBLE, Value
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names import call_targets, name_candidates
from remora.code.callgraph.names.search_scope import SearchScope
from remora.code.ir import model as ir
from remora.code.ir.model import ATTRIBUTE, CLASS_SCOPE, FUNCTION_SCOPE, has_tag, unqualified_name
from remora.code.links import Kind

_ONLY_LOOKING = frozenset(("builtins", "typing", "typing_extensions", "inspect", "copy", "abc"))
"""Modules whose functions do not call their arguments, but for `CALLBACK_ARGUMENTS`."""
_ONLY_WRAPPING = sys.stdlib_module_names - {"atexit"} | {"pytest", *_ONLY_LOOKING}
"""Modules whose decorators register nothing that a program calls later."""
_KEEPING = frozenset(name for kind in (list, dict, set, deque) for name in dir(kind)) - {"sort"}
"""Methods of containers, which only keep or compare their arguments."""
_IMPORTS = (ir.IMPORT, ir.IMPORT_FROM)
_OUTSIDE = frozenset((kinds.EXTERNAL, kinds.OPAQUE))
Use = tuple[Kind, IndexedFile, int, int, int]
"""Kind, file and scope of the user, tier, and line or 0."""


class UseSearch:
    """Finds the uses of one node."""

    def __init__(self, ctx: Context, file: IndexedFile, scope: int) -> None:
        self._ctx = ctx
        self._file = file
        self._scope = scope
        self._name = file.scopes[scope].name
        self._is_class = file.scopes[scope].kind == CLASS_SCOPE
        kind = kinds.CLASS if self._is_class else kinds.FUNCTION
        self._target: Value = (kind, file.path, scope) if scope else (kinds.MODULE, file.path)
        self._headers: set[tuple[str, int, int]] = set()
        """(path, scope, statement) of the definitions of subclasses."""

    def uses(self) -> Iterator[Use]:
        yield from self._subclasses() if self._is_class else self._overriders()
        for number in self._file.scopes[self._scope].decorators:
            if self._passes_on(self._file, number, self._name, _ONLY_WRAPPING):
                call = self._file.lowered.calls[number]
                yield "passed to", self._file, call.scope, EXACT, call.line
        near = SearchScope(self._ctx, self._file, self._scope).caller_files(self._name, own=True)
        for path in [self._file.path] if self._file.is_local(self._scope) else near:
            if (file := self._ctx.file(path)) is not None:
                for alias in sorted({self._name, *file.aliases.get(self._name, ())}):
                    yield from self._uses_of_name(file, alias)

    def readers(self, called: str) -> Iterator[Use]:
        """Yield the readers of what a module or class assigns, such as `data.LIMIT` or `Color.RED`.

        `called` is its name. A default or an argument of a decorator is read by the function.
        """
        scope, ctx = self._file.scopes[self._scope], self._ctx
        for name, binds in {} if scope.kind == FUNCTION_SCOPE else scope.binds.items():
            if any(bind.kind in (ir.DEFINITION, *_IMPORTS) for bind in binds):
                continue
            for file in filter(None, map(ctx.file, ctx.mentioning(name))):
                reads = (file.lowered.reads[number] for number in file.reads_by_name.get(name, ()))
                places = [(r.scope, r.at, r.line) for r in reads if self._is_read(file, r, called)]
                for alias in () if self._is_class else {name, *file.aliases.get(name, ())}:
                    if _imports(ctx, file, alias, name, self._target):
                        places += file.lowered.loads.get(alias, ())
                for at, statement, line in places:
                    made = (
                        n for n, s in enumerate(file.scopes) if (s.parent, s.at) == (at, statement)
                    )
                    yield "reference", file, next(made, at), INFERRED, line

    def _is_read(self, file: IndexedFile, read: ir.AttributeRead, called: str) -> bool:
        """Return True if an attribute of this module or class is read by its name or by an alias."""
        base = read.term[1]
        name = unqualified_name(base)
        binds = file.scopes[0].binds.get(name, ())
        if name != called and not any(bind.kind in _IMPORTS for bind in binds):
            return False
        values = call_targets.term_values(self._ctx, (file.path, read.scope, read.at), base)
        return any(value == self._target for value, _ in values)

    def _subclasses(self) -> Iterator[Use]:
        for path, number in name_candidates.candidate_subclasses(self._ctx, self._name):
            bases = self._ctx.solve(("bases", path, number))
            file = self._ctx.file(path)
            if file is not None and any(base == self._target for base, _ in bases):
                found = file.scopes[number]
                self._headers.add((path, found.parent, found.at))
                yield "inherit", file, number, EXACT, found.line

    def _overriders(self) -> Iterator[Use]:
        owner = self._file.owner_class(self._scope)
        derived = () if owner is None else self._ctx.solve(("derived", self._file.path, owner))
        for value, tier in derived:
            if (file := self._ctx.file(value[1])) is not None:
                for binding in file.exported(value[2], self._name):
                    if (number := file.definition(binding)) is not None:
                        yield "override", file, number, tier, file.scopes[number].line

    def _uses_of_name(self, file: IndexedFile, name: str) -> Iterator[Use]:
        calls = file.lowered.calls
        made = file.flows.calls_by_name.get(name, ())
        passing = {
            (calls[number].scope, calls[number].at)
            for number in file.flows.calls_by_argument.get(name, ())
            if self._passes_on(file, number, name, _ONLY_LOOKING)
        }
        called = {(calls[number].scope, calls[number].at) for number in made} - passing
        places = [(*place, name) for place in file.lowered.loads.get(name, ())]
        reads = (file.lowered.reads[number] for number in file.reads_by_name.get(name, ()))
        places += [(read.scope, read.at, read.line, read.term) for read in reads]
        constructor = ("class_attribute", 0, *self._target[1:], "__init__")
        if made and self._is_class and self._ctx.solve(constructor):  # whose callers these are
            places += [(calls[n].scope, calls[n].at, calls[n].line, calls[n].callee) for n in made]
            called = set()
        for scope, at, line, term in places:
            if (scope, at) in called or (file.path, scope, at) in self._headers:
                continue
            if (tier := self._tier(file, scope, at, term)) is not None:
                kind: Kind = "passed to" if (scope, at) in passing else "reference"
                yield kind, file, scope, tier, line
        is_only_imported = not places and not made and file is not self._file
        if is_only_imported or name in (file.lowered.exports or ()):
            values = self._ctx.solve(("export", 0, file.path, name))
            if any(value == self._target for value, _ in values):
                yield "reference", file, 0, EXACT, 0

    def _passes_on(
        self, file: IndexedFile, number: int, name: str, passive: frozenset[str]
    ) -> bool:
        """Return True if a call may call an argument `name` outside the project, or later."""
        call, names_in = file.lowered.calls[number], file.flows.names_in
        point, term = (file.path, call.scope, call.at), call.callee
        arguments = [*enumerate(call.args), *call.keywords]
        places = [place for place, value in arguments if name in names_in(value)]
        if values := call_targets.term_values(self._ctx, point, term):
            method = unqualified_name(term)
            return any(_calls_argument(v, method, places, passive) for v, _ in values)
        while isinstance(term, int):
            term = file.lowered.calls[term].callee
        is_kept = unqualified_name(term) in _KEEPING
        base = term[1] if has_tag(term, ATTRIBUTE) else None
        known = call_targets.term_values(self._ctx, point, base)
        return not is_kept and all(value[0] in _OUTSIDE for value, _ in known)

    def _tier(self, file: IndexedFile, scope: int, at: int, term: Any) -> int | None:
        """Return the tier with which a term is the node, or None."""
        point = (file.path, scope, at)
        values = call_targets.term_values(self._ctx, point, term)
        if tiers := [tier for value, tier in values if self._target in (value, *value[1:2])]:
            return min(tiers)
        is_function = self._file.owner_class(self._scope) is None
        common = name_candidates.EXTERNAL_METHOD_NAMES
        if is_function or not has_tag(term, ATTRIBUTE) or term[2] in common:
            return None
        known = call_targets.term_values(self._ctx, point, term[1])
        return POSSIBLE if all(call_targets.is_unknown(v, term[2]) for v, _ in known) else None


def _imports(ctx: Context, file: IndexedFile, alias: str, name: str, module: Value) -> bool:
    """Return True if a file imports a name of a module under an alias."""
    binds = (bind for scope in file.scopes for bind in scope.binds.get(alias, ()))
    terms = (bind.term for bind in binds if bind.kind == ir.IMPORT_FROM and bind.extra == name)
    is_imported = any(ctx.resolve_import(file.path, *term) == module for term in terms)
    return is_imported or module[1] in ctx.star_sources(file.path, alias)


def _calls_argument(
    value: Value, name: str, places: list[int | str | None], passive: frozenset[str]
) -> bool:
    """Return True if a call of `value` by a name may call the argument at one of the places."""
    if value[0] == kinds.CONTAINER_METHOD:
        return name == "sort" and "key" in places
    if value[0] not in _OUTSIDE or (value[0] == kinds.OPAQUE and name in _KEEPING):
        return False
    dotted = value[1] if value[1:] else ""
    if dotted in call_targets.CALLBACK_ARGUMENTS:
        return call_targets.CALLBACK_ARGUMENTS[dotted] in places
    return dotted.partition(".")[0] not in passive
