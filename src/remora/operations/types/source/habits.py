"""Results and star parameters that a project leaves unannotated on purpose."""

from collections import Counter

from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN

_LEAST = 2


class Habits:
    """How often functions with other annotations have none of a result or `**kwargs`, by kind."""

    def __init__(self, index: ProjectIndex) -> None:
        self._annotated: Counter[str] = Counter()
        self._bare: Counter[str] = Counter()
        for function in index.every_function():
            if any(each.term for each in function.parameters):
                kind = _kind(function)
                self._annotated[kind] += 1
                self._bare[kind] += not function.returns
            if any(function.terms()):
                for each in function.parameters:
                    if each.kind != "parameter":
                        self._annotated[each.kind] += 1
                        self._bare[each.kind] += not each.term

    def omits(self, function: Function, name: str) -> bool:
        """Return True if the project mostly leaves out such results or star parameters."""
        parameter = function.parameter(name)
        kind = _kind(function) if name == RETURN else parameter.kind if parameter else ""
        total = self._annotated[kind]
        is_habit = total >= _LEAST and self._bare[kind] * 2 >= total
        return bool(kind) and kind != "parameter" and is_habit


def _kind(function: Function) -> str:
    """Return the name of a special method, `nested`, or an empty string."""
    if function.owner is None:
        return "nested" if "." in function.name else ""
    is_special = function.short.startswith("__") and function.short.endswith("__")
    return function.short if is_special else ""
