"""Questions about `raise` in an `except` block: `from` the caught exception, or `from None`?"""

import ast
import builtins
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from judgement_packages import FunctionNode, modules
from judgement_question import (
    Features,
    Question,
    neutral_names,
    renamed_code,
    stems_of,
    with_facts,
)

FRAMINGS = ("try", "function", "handler")
FRAMING = "handler"
"""The code before the `raise`: the `try` statement, the function or the handler alone."""
_CAUSE = re.compile(r"\bfrom \w+[ \t]*(?:#.*)?$", re.MULTILINE)
_LONGEST = 900
_LONGEST_STATEMENT = 400
_EMPTY = "try:\n    pass\nexcept Exception as {name}:\n    raise Exception() from"


@dataclass(frozen=True)
class Site:
    """A `raise` with a cause that its author chose. `caught` names the exception."""

    package: str
    path: str
    line: int
    code: dict[str, str]
    """For each framing, the code up to the end of the raised exception."""
    caught: str
    is_chained: bool
    facts: Features


def sites(package: str) -> list[Site]:
    """Return the raises of a package with `from` the caught exception or `from None`."""
    return [
        site
        for path, text, tree in modules(package, _CAUSE)
        for site in sites_of(package, path, text, tree)
    ]


def questions(package: str, framing: str = FRAMING) -> list[Question]:
    """Return a question for each site; facts count the other choices in its file and package."""
    found = sites(package)
    total = Counter(site.is_chained for site in found)
    files = Counter((site.path, site.is_chained) for site in found)
    asked = []
    for site in found:
        near = {
            "file": _balance(
                files[site.path, True] - site.is_chained,
                files[site.path, False] - (not site.is_chained),
            ),
            "package": _balance(
                total[True] - site.is_chained, total[False] - (not site.is_chained)
            ),
        }
        asked.append(_question(site, framing, {**site.facts, **near}))
    return asked


def renamed(question: Question) -> Question:
    """Return the question with neutral identifiers. The choices in other places remain."""
    names = neutral_names(question.code)
    code = renamed_code(question.code, names)
    chained = question.options[0].strip()
    name = names.get(chained, chained)
    near = {key: question.facts[0][key] for key in ("file", "package")}
    facts = {
        _renamed_fact(key, names): value
        for key, value in question.facts[0].items()
        if key not in near and not key.startswith(("word=", "function="))
    }
    facts |= {f"word={word}": 1.0 for word in set(stems_of(code)) if len(word) > 2}
    changed = Question(
        package=question.package,
        name=question.name,
        code=code,
        context=f"{code} from",
        empty=_EMPTY.format(name=name),
        options=(f" {name}", " None"),
        right=question.right,
        single=True,
    )
    return with_facts(changed, [{**facts, **near}, {}])


def _renamed_fact(key: str, names: dict[str, str]) -> str:
    head, _, value = key.partition("=")
    return f"{head}={renamed_code(value, names)}" if value else key


def _question(site: Site, framing: str, facts: Features) -> Question:
    code = site.code[framing]
    words = {f"word={word}": 1.0 for word in set(stems_of(code)) if len(word) > 2}
    return Question(
        package=site.package,
        name=f"{site.path}:{site.line}",
        code=code,
        context=f"{code} from",
        empty=_EMPTY.format(name=site.caught),
        options=(f" {site.caught}", " None"),
        right=0 if site.is_chained else 1,
        single=True,
        facts=({**facts, **words}, {}),
    )


def _balance(chained: int, cut: int) -> float:
    """Return the share of chained raises among others, from -1 to 1; 0 if there are none."""
    return (chained - cut) / (chained + cut + 1)


def sites_of(package: str, path: str, text: str, tree: ast.Module) -> Iterator[Site]:
    """Yield the raises of a module whose author chose a cause."""
    lines = text.splitlines()
    for function in ast.walk(tree):
        if isinstance(function, FunctionNode):
            for place in _places_in(lines, function):
                if _is_explicit(place.statement, place.handler) and place.is_short:
                    yield place.site(package, path)


def _places_in(lines: list[str], function: FunctionNode) -> Iterator["_Place"]:
    for block in _own_nodes(function):
        for handler in block.handlers if isinstance(block, ast.Try) else ():
            for statement in _own_nodes(handler):
                if isinstance(statement, ast.Raise) and isinstance(block, ast.Try):
                    yield _Place(lines, function, block, handler, statement)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside a statement that belong to the same function and handler."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode | ast.Lambda | ast.ClassDef):
            continue
        yield child
        if not (isinstance(child, ast.Try) and isinstance(node, ast.ExceptHandler)):
            yield from _own_nodes(child)


def _is_explicit(statement: ast.Raise, handler: ast.ExceptHandler) -> bool:
    cause = statement.cause
    if isinstance(cause, ast.Name):
        return handler.name is not None and cause.id == handler.name
    return isinstance(cause, ast.Constant) and cause.value is None


@dataclass(frozen=True)
class _Place:
    lines: list[str]
    function: FunctionNode
    block: ast.Try
    handler: ast.ExceptHandler
    statement: ast.Raise

    @property
    def is_short(self) -> bool:
        raised = self.statement.exc
        return raised is not None and len(ast.unparse(raised)) <= _LONGEST_STATEMENT

    def site(self, package: str, path: str) -> Site:
        first = {
            "try": self.block.lineno,
            "function": self.function.lineno,
            "handler": self.handler.lineno,
        }
        cause = self.statement.cause
        return Site(
            package=package,
            path=path,
            line=self.statement.lineno,
            code={framing: self._code(line) for framing, line in first.items()},
            caught=self.caught,
            is_chained=isinstance(cause, ast.Name),
            facts=self._facts(),
        )

    @property
    def is_used(self) -> bool:
        """True if the handler uses the exception for something else than a cause."""
        causes = {id(n.cause) for n in ast.walk(self.handler) if isinstance(n, ast.Raise)}
        return any(
            isinstance(n, ast.Name) and n.id == self.handler.name and id(n) not in causes
            for n in ast.walk(self.handler)
        )

    @property
    def caught(self) -> str:
        """The exception's name in the question: without the cause, an unused one is not named.

        Otherwise the name alone would tell whether the author chained the exceptions.
        """
        return str(self.handler.name) if self.is_used else "e"

    def _code(self, first: int) -> str:
        """Return the code from a line to the end of the raised exception."""
        raised = self.statement.exc
        assert raised is not None
        assert raised.end_lineno is not None
        lines = self.lines[: raised.end_lineno]
        lines[-1] = lines[-1].encode()[: raised.end_col_offset].decode()
        start = self.handler.lineno - 1
        if not self.is_used:
            for number in range(start, len(lines)):
                lines[number] = re.sub(rf"\bfrom {self.handler.name}\b", "from e", lines[number])
            end = self.handler.body[0].lineno - 1
            header = "\n".join(lines[start:end])
            named = re.sub(r"(?:\s+as\s+\w+)?\s*:(\s*(?:#.*)?)\Z", r" as e:\1", header)
            lines[start:end] = named.split("\n")
        text = textwrap.dedent("\n".join(lines[first - 1 :]))
        return text if len(text) <= _LONGEST else _last_lines(text)

    def _facts(self) -> Features:
        raised = self.statement.exc
        call = raised.func if isinstance(raised, ast.Call) else raised
        assert call is not None
        raised_name = ast.unparse(call)
        caught_name = ast.unparse(self.handler.type) if self.handler.type else "everything"
        body = self.handler.body
        names = {
            f"raised={raised_name}",
            f"caught={caught_name}",
            f"pair={caught_name},{raised_name}",
            f"function={self.function.name}",
            f"arguments={len(raised.args) if isinstance(raised, ast.Call) else 'class'}",
            f"statements={min(len(body), 4)}",
        }
        checks = {
            "uses the exception": self.is_used,
            "raised is built in": hasattr(builtins, raised_name),
            "raised is caught": raised_name == caught_name,
            "only statement": len(body) == 1,
            "special method": self.function.name.startswith("__"),
            "several caught": isinstance(self.handler.type, ast.Tuple),
            "private function": self.function.name.startswith("_"),
            "short try": len(self.block.body) == 1,
        }
        return dict.fromkeys(names, 1.0) | {key: 1.0 for key, value in checks.items() if value}


def _last_lines(text: str) -> str:
    """Return the last lines of a text, and its first."""
    head, _, rest = text.partition("\n")
    tail = rest[-_LONGEST:]
    return f"{head}\n    ...\n{tail[tail.find(chr(10)) + 1 :]}"
