"""By which names a function may be called: its own, and those of all that carries it about."""

from collections.abc import Iterable, Iterator

from remora.code.lowered import CLASS_SCOPE, FUNCTION_SCOPE, KWARGS, VARARGS
from remora.code.resolve.context import Context
from remora.code.resolve.files import File
from remora.code.resolve.flows import RESULT
from remora.code.resolve.values import BOUND, CLASS, FUNCTION, OWN_CLASS, PARTIAL, Value
from remora.code.resolve.sites import BY_BUILTIN, LEVEL, CALLING

CALL, READ, STORE = range(3)
Site = tuple[str, int, int]
_TAKING = frozenset(name.rpartition(".")[2] for name in CALLING)


class Carriers:
    """Finds, for a node, every place in the code that may lead to it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def sites(self, file: File, scope: int) -> list[Site]:
        """Calls, reads and stores written with one of the names that carry the node."""
        found: dict[Site, None] = {}
        for name in self.names(file, scope):
            plain = name.partition(RESULT)[0]
            for path in sorted(self._ctx.program.mentioning(plain)):
                other = self._ctx.file(path)
                if other is not None:
                    found.update(dict.fromkeys(_written(other, name)))
        return list(found)

    def names(self, file: File, scope: int) -> list[str]:
        """All of them, the first ones first."""
        found: dict[str, None] = dict.fromkeys(self._first(file, scope))
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            for further in sorted(set(self._carried(name))):
                if further not in found and further.count(RESULT) <= 3:
                    found[further] = None
                    waiting.append(further)
        return list(found)

    def _first(self, file: File, scope: int) -> Iterator[str]:
        found = file.scopes[scope]
        yield found.name
        around = file.scopes[found.parent].kind == CLASS_SCOPE if found.parent >= 0 else False
        if found.kind == CLASS_SCOPE:
            yield from self._of_class(file, scope, "")
        elif found.kind == FUNCTION_SCOPE and around and found.name.startswith("__"):
            if found.name in {"__init__", "__new__"}:
                yield from self._of_class(file, found.parent, "")
            elif found.name == "__call__":
                yield from self._of_class(file, found.parent, RESULT)
            yield from BY_BUILTIN.get(found.name, ())

    def _of_class(self, file: File, scope: int, suffix: str) -> Iterator[str]:
        """Names of a class or, with RESULT, of its instances; derived ones among them."""
        below = [v for v, _ in self._ctx.solve(("derived", file.path, scope))]
        above = [v for v, _ in self._ctx.solve(("mro", file.path, scope)) if v[0] == CLASS]
        for value in ((CLASS, file.path, scope), *below):
            other = self._ctx.file(value[1])
            if other is not None:
                yield other.scopes[value[2]].name + suffix
        if not suffix:
            yield from ("__class__", "type" + RESULT)
        for value in (*above, *below):
            other = self._ctx.file(value[1])
            if other is not None:
                yield from _first_parameters(other, value[2])

    def _carried(self, name: str) -> Iterator[str]:
        """What may have the value of `name`: also what calls give, if the called is carried."""
        plain, *rest = name.split(RESULT)
        for path in self._ctx.program.mentioning(plain):
            file = self._ctx.file(path)
            if file is None:
                continue
            for depth in range(len(rest) + 1):
                head = plain + RESULT * (len(rest) - depth)
                tail = RESULT * depth
                for target in file.flows.targets.get(head, ()):
                    yield target + tail
                for number in file.flows.passed.get(head, ()):
                    for target in self._parameters(file, number, head):
                        yield target + tail

    def _parameters(self, file: File, number: int, name: str) -> Iterator[str]:
        """Parameters that the call hands the value to."""
        call = file.lowered.calls[number]
        positions = [i for i, term in enumerate(call.args) if name in file.flows.names(term)]
        keywords = {k for k, term in call.keywords if name in file.flows.names(term)}
        for value, _ in self._ctx.solve(("callee", LEVEL, file.path, number)):
            for function, offset in self._called(value):
                other = self._ctx.file(function[1])
                if other is not None:
                    yield from _receiving(other, function[2], positions, keywords, offset)

    def _called(self, value: Value) -> Iterable[tuple[Value, int]]:
        if value[0] == FUNCTION:
            return [(value, 0)]
        if value[0] == BOUND:
            return [(value[1], 1)]
        if value[0] in {CLASS, OWN_CLASS}:
            made = self._ctx.solve(("class_attribute", 0, value[1], value[2], "__init__"))
            return [(v, 1) for v, _ in made if v[0] == FUNCTION]
        if value[0] == PARTIAL:
            held = self._ctx.solve(("argument", LEVEL, value[1], value[2], 0))
            return [(v, -1) for v, _ in held if v[0] == FUNCTION]
        return []


def _receiving(
    file: File, scope: int, positions: list[int], keywords: set[str | None], offset: int
) -> Iterator[str]:
    params = file.scopes[scope].params
    for index, param in enumerate(params):
        loose = param.kind in {VARARGS, KWARGS} or offset < 0 or None in keywords
        if loose or param.name in keywords or index - offset in positions:
            yield param.name


def _first_parameters(file: File, scope: int) -> Iterator[str]:
    for method in file.scopes:
        if method.kind == FUNCTION_SCOPE and method.parent == scope and method.params:
            yield method.params[0].name


def _written(file: File, name: str) -> Iterator[Site]:
    for number in file.flows.called.get(name, ()):
        yield file.path, CALL, number
    for number in file.flows.passed.get(name, ()):
        if file.last_name(file.lowered.calls[number].callee) in _TAKING:
            yield file.path, CALL, number
    for number in file.reads_by_name.get(name, ()):
        yield file.path, READ, number
    for number in file.stores_by_name.get(name, ()):
        yield file.path, STORE, number
