"""Results that a project leaves unannotated on purpose."""

from collections import Counter

from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN

_LEAST = 2


class Habits:
    """How often functions with annotated parameters have no annotated result, by kind."""

    def __init__(self, index: ProjectIndex) -> None:
        self._annotated: Counter[str] = Counter()
        self._bare: Counter[str] = Counter()
        for function in index.every_function():
            if any(each.term for each in function.parameters):
                kind = _kind(function)
                self._annotated[kind] += 1
                self._bare[kind] += not function.returns

    def omits(self, function: Function, name: str) -> bool:
        """Return True if the project mostly leaves out the result of such functions."""
        kind = _kind(function)
        total = self._annotated[kind]
        return bool(name == RETURN and kind and total >= _LEAST and self._bare[kind] * 2 >= total)


def _kind(function: Function) -> str:
    """Return the name of a special method, `nested`, or an empty string."""
    if function.owner is None:
        return "nested" if "." in function.name else ""
    is_special = function.short.startswith("__") and function.short.endswith("__")
    return function.short if is_special else ""
