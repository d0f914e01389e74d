"""An OpenAI-compatible server that answers with what people wrote.

It shows how much of what people wrote the rest of Remora can carry into the files, so every miss is
a fault of the harness, and not of a model. It answers by the tool that a question is about: parts
of docstrings, types of signatures, lines without findings, and calls that people wrote in tests.

    python -m tests.oracle_server PROJECT OPERATION

prints its address, and serves what people wrote in a project until its input is closed.
"""

import ast
import copy
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from remora.bootstrap.operations import BUILT_IN
from remora.code.syntax.source import parse_text
from remora.ids import escape_path, node_key, split_node_key, unescape_path
from remora.operations.restorer import Slot, Texts
from tests.openai_server import Handler, Server, answer, openai_server, send_json

_TARGET = re.compile(r"^Target: \w+ \w+ (\S+)$", re.MULTILINE)
_ACTION = re.compile(r"^- (\w+)\((?:line=\d+, )?(\w+)=(\"(?:[^\"\\\n]|\\.)*\")\)", re.MULTILINE)
_LINE = re.compile(r"^- edit_line\(line=(\d+),", re.MULTILINE)
_PART_OF = {"outcome": "returns"}
_NO_TEXTS: Mapping[str, str] = {}
_MOST_NUMBERS = 10


class Question(NamedTuple):
    """The node that a request is about, and the tool that it asks for, with the known argument."""

    node: str
    tool: str
    about: str
    line: int = 0


@contextmanager
def oracle_server(
    slots: Sequence[Slot] = (),
    texts: Texts = _NO_TEXTS,
    lines: Mapping[str, str] = _NO_TEXTS,
) -> Iterator[Server]:
    """Serve what people wrote in `slots`, whose tests are in `texts`.

    `lines` maps lines with a finding to those that people wrote. Where people wrote nothing, the
    text of an answer is empty.
    """
    answers = {
        "describe": _descriptions(slots),
        "edit_line": lambda question: _edit(question, lines),
        "propose_types": _signatures(slots),
        "try_calls": _calls([slot for slot in slots if slot.part == "tests"], texts),
    }

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        question = asked_for(request)
        args = _as_declared(answers[question.tool](question), question.tool, request["tools"])
        send_json(handler, answer((question.tool, args)))

    def complete(handler: Handler, request: dict[str, Any], _number: int) -> None:
        if not _TARGET.search(request.get("prompt", "")):  # Remora tests what the server can do
            send_json(handler, {"error": {"message": "not a question"}}, 400)
            return
        question = asked_for(request)
        text = functiongemma_call(question.tool, answers[question.tool](question))
        choice = {"index": 0, "text": text, "finish_reason": "stop"}
        send_json(handler, {"object": "text_completion", "model": "oracle", "choices": [choice]})

    with openai_server(chat, model="oracle", complete=complete) as server:
        yield server


def asked_for(request: dict[str, Any]) -> Question:
    """Read the target and the open action from a prompt, which shows the packet as lines or JSON.

    A request for a plain completion has the whole prompt in FunctionGemma's format.
    """
    prompt = request.get("prompt") or str(request["messages"][-1]["content"])
    if prompt.startswith("{"):
        packet = json.loads(prompt)
        (action,) = packet["candidate_actions"]
        *line, about = action["args"].values()
        return Question(packet["node_id"], action["tool"], about, *line)
    (node,), ((tool, _, about),) = _TARGET.findall(prompt), _ACTION.findall(prompt)
    return Question(node, tool, json.loads(about), *map(int, _LINE.findall(prompt)))


def functiongemma_call(tool: str, args: Mapping[str, Any]) -> str:
    """Return a call as FunctionGemma writes it."""
    written = ",".join(
        f"{name}:<escape>{value}<escape>" if isinstance(value, str) else f"{name}:{value}"
        for name, value in args.items()
    )
    return f"<start_function_call>call:{tool}{{{written}}}<end_function_call>"


def _as_declared(
    args: Mapping[str, Any], tool: str, tools: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return arguments as a server sends them: as strings, if a tool declares them as strings."""
    (declared,) = (each["function"] for each in tools if each["function"]["name"] == tool)
    types = {name: each["type"] for name, each in declared["parameters"]["properties"].items()}
    return {name: str(args[name]) if types[name] == "string" else args[name] for name in args}


def _edit(question: Question, lines: Mapping[str, str]) -> dict[str, Any]:
    replacement = lines.get(question.about, question.about)
    return {"line": question.line, "expect": question.about, "replace": replacement}


def _descriptions(slots: Sequence[Slot]) -> Callable[[Question], dict[str, Any]]:
    texts: dict[tuple[str, str], str] = {
        (node_key(escape_path(slot.path), slot.qualname), slot.part): slot.text for slot in slots
    }

    def answered(question: Question) -> dict[str, str]:
        part = _PART_OF.get(question.about, question.about)
        return {"part": question.about, "text": texts.get((question.node, part), "")}

    return answered


def _signatures(slots: Sequence[Slot]) -> Callable[[Question], dict[str, Any]]:
    types: Mapping[str, dict[str, str]] = defaultdict(dict)
    for slot in slots:
        types[node_key(escape_path(slot.path), slot.qualname)][
            slot.part.removeprefix("parameter ")
        ] = slot.text

    def answered(question: Question) -> dict[str, str]:
        known = dict(types[node_key(split_node_key(question.node)[0], question.about)])
        result = known.pop("return", "")
        parameters = ", ".join(f"{name}: {text}" for name, text in known.items())
        arrow = f" -> {result}" if result else ""
        return {"function": question.about, "signature": f"({parameters}){arrow}"}

    return answered


def _calls(slots: Sequence[Slot], texts: Texts) -> Callable[[Question], dict[str, Any]]:
    codes = {(slot.path, slot.qualname): written_calls(slot, texts) for slot in slots}

    def answered(question: Question) -> dict[str, str]:
        path, _ = split_node_key(question.node)
        code = codes.get((unescape_path(path), question.about), "")
        return {"function": question.about, "code": code}

    return answered


def written_calls(slot: Slot, texts: Texts) -> str:
    """Return the statements of a function's hidden tests, after those of their fixtures.

    Constants of the test file and the rows of tables take the place of their names.
    """
    parts: dict[str, None] = {}
    for test in slot.text.split(" "):
        path, *names = test.split("::")
        near = [ast.parse(texts[each]) for each in (*_conftests(path), path) if each in texts]
        function = _test_named(near[-1], names)
        constants = _constants(near[-1]) | _attributes(near[-1], names)
        before = [one for arg in function.args.args for one in _fixture(arg.arg, near)]
        parts |= dict.fromkeys(each for tree in near for each in _imports(tree))
        for row in _rows(function):
            lines = _lines(_with_values([*before, *function.body], constants | row))
            parts["\n".join(lines)] = None
    return "\n".join(parts)


def _conftests(path: str) -> list[str]:
    folders = path.split("/")[:-1]
    return ["/".join([*folders[:n], "conftest.py"]) for n in range(len(folders) + 1)]


def _fixture(name: str, near: Sequence[ast.Module]) -> list[ast.stmt]:
    """Return the statements of a fixture, with the first of its parameters, or none."""
    found = [
        one
        for tree in near
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
        and one.name == name
        and any("fixture" in ast.unparse(each) for each in one.decorator_list)
    ]
    if not found:
        return []
    *body, last = found[-1].body
    made = getattr(last, "value", None)
    made = made.value if isinstance(made, ast.Yield) else made
    assign = ast.Assign([ast.Name(name, ast.Store())], made or ast.Constant(None), lineno=0)
    words = getattr(found[-1].decorator_list[0], "keywords", [])
    params = {
        f"request.{each.arg[:-1]}": each.value.elts[0] for each in words if each.arg == "params"
    }
    return [
        *(one for arg in found[-1].args.args for one in _fixture(arg.arg, near)),
        *_with_values([*body, assign], params),
    ]


def _test_named(tree: ast.Module, names: Sequence[str]) -> ast.FunctionDef:
    *classes, name = names
    body = tree.body
    for each in classes:
        (body,) = (one.body for one in body if isinstance(one, ast.ClassDef) and one.name == each)
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    return found[-1]


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: one.value
        for one in tree.body
        if isinstance(one, ast.Assign) and _is_literal(one.value)
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def _attributes(tree: ast.Module, names: Sequence[str]) -> dict[str, ast.expr]:
    """Return the literals that the set-up method of the test's class assigns, as in `self.x`."""
    own = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    methods = {
        each.name: each for each in getattr(own.get(names[0]), "body", []) if hasattr(each, "name")
    }
    found: dict[str, ast.expr] = {}
    for name in ("setUp", "setup_method"):
        for one in getattr(methods.get(name), "body", []):
            if isinstance(one, ast.Assign) and _is_literal(one.value):
                found |= {ast.unparse(each): one.value for each in one.targets}
    return found


def _rows(function: ast.FunctionDef) -> list[dict[str, ast.expr]]:
    """Return the values of each row of the test's table, or one empty row."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows), *_],
            ):
                given = ast.literal_eval(names)
                columns = re.findall(r"\w+", given) if isinstance(given, str) else given
                return [dict(zip(columns, _cells(row, len(columns)), strict=False)) for row in rows]
    return [{}]


def _cells(row: ast.expr, columns: int) -> list[ast.expr]:
    match row:
        case ast.Call(func=ast.Attribute(attr="param"), args=cells):
            return cells
        case ast.Tuple(elts=cells) | ast.List(elts=cells) if columns > 1:
            return cells
    return [row]


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the imports of a test file, but for those of files beside it."""
    for one in tree.body:
        if isinstance(one, ast.Import) or (isinstance(one, ast.ImportFrom) and not one.level):
            yield ast.unparse(one)


def _with_values(body: Sequence[ast.stmt], values: Mapping[str, ast.expr]) -> list[ast.stmt]:
    return [_Inline(values).visit(copy.deepcopy(one)) for one in body]


def _lines(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the statements of a test in order.

    Loops over literals are unrolled, and those over ranges for some numbers. Of a condition on
    literals, such as the parameter of a fixture, one branch is taken.
    """
    for one in body:
        match one:
            case ast.With(body=inner):
                yield from _lines(inner)
            case ast.If(test=ast.Compare(ast.Constant(left), [ast.Eq()], [ast.Constant(right)])):
                yield from _lines(one.body if left == right else one.orelse)
            case ast.For():
                for values in _values_of_loop(one):
                    yield from _lines(_with_values(one.body, values))
            case ast.Expr(value=ast.Constant()):
                pass  # a docstring
            case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Assert():
                yield ast.unparse(one)


def _values_of_loop(loop: ast.For) -> Iterator[dict[str, ast.expr]]:
    columns = [each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)]
    match loop.iter:
        case ast.Call(func=ast.Name("range")) as call:
            rows = _numbers(call)
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            pass
        case _:
            rows = []
    for row in rows:
        yield dict(zip(columns, _cells(row, len(columns)), strict=False))


def _numbers(call: ast.Call) -> list[ast.expr]:
    """Return some numbers of a range of literals, from the first to the last."""
    if not all(map(_is_literal, call.args)):
        return []
    numbers = range(*map(ast.literal_eval, call.args))
    step = len(numbers) // _MOST_NUMBERS or 1
    return [ast.Constant(each) for each in numbers[::-step][::-1]]


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True


def _unpacked(argument: ast.expr) -> list[ast.expr]:
    match argument:
        case ast.Starred(value=ast.Tuple(elts=items) | ast.List(elts=items)):
            return items
    return [argument]


class _Inline(ast.NodeTransformer):
    """Replaces names with the values that they stand for."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_read = isinstance(node.ctx, ast.Load)
        return self._values.get(node.id, node) if is_read else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._values.get(ast.unparse(node)) or self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Pass the items of a tuple in place of `*name`."""
        self.generic_visit(node)
        node.args = [part for each in node.args for part in _unpacked(each)]
        return node


def main() -> None:
    project, operation = Path(sys.argv[1]), sys.argv[2]
    files = (each for each in project.rglob("*.py") if ".venv" not in each.parts)
    texts = {str(each.relative_to(project)): each.read_text("utf-8", "replace") for each in files}
    parsed = {path: text for path, text in texts.items() if not isinstance(parse_text(text), str)}
    with oracle_server(BUILT_IN.restorers[operation].find(parsed), parsed) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
