"""An OpenAI-compatible server that answers with what people wrote."""

import ast
import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from remora.bootstrap.operations import BUILT_IN
from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import parse_text
from remora.ids import escape_path, node_key, split_node_key
from remora.operations.restorer import HiddenSlot
from tests.openai_server import Handler, Server, answer, openai_server, send_json

_TARGET = re.compile(r"^Target: \w+ \w+ (\S+)$", re.MULTILINE)
_SUGGESTION = re.compile(r"^- (\w+)\((.*?)\)(?= - |$)", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+)=(\"(?:[^\"\\\n]|\\.)*\"|\d+)")
_NO_TEXTS: Mapping[str, str] = {}
Call = tuple[str, dict[str, Any]]


class Shown(NamedTuple):
    """What a request shows: the node and the suggested calls."""

    node: str
    suggested: Sequence[Call]


Answer = Callable[[Shown, dict[str, Any]], dict[str, Any] | None]
"""Returns the arguments of a call from those that are suggested, or None if it knows none."""


@contextmanager
def oracle_server(
    slots: Sequence[HiddenSlot] = (), files: Mapping[str, str] = _NO_TEXTS
) -> Iterator[Server]:
    """Serve the docstrings in `files` and the types in `slots`, as people wrote them."""
    answers: Mapping[str, Answer] = {
        "write_docstring": _docstrings(files),
        "annotate": _signatures(slots),
        "leave": lambda _shown, args: {**args, "because": "no more is known"} if slots else None,
    }

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        tool, args = call_for(shown_in(request), answers)
        send_json(handler, answer((tool, _as_declared(args, tool, request["tools"]))))

    def complete(handler: Handler, request: dict[str, Any], _number: int) -> None:
        if not _TARGET.search(request.get("prompt", "")):  # Remora tests what the server can do
            send_json(handler, {"error": {"message": "not a question"}}, 400)
            return
        text = functiongemma_call(*call_for(shown_in(request), answers))
        choice = {"index": 0, "text": text, "finish_reason": "stop"}
        send_json(handler, {"object": "text_completion", "model": "oracle", "choices": [choice]})

    with openai_server(chat, model="oracle", complete=complete) as server:
        yield server


def shown_in(request: dict[str, Any]) -> Shown:
    """Read a prompt, which shows the packet as lines or JSON."""
    prompt = request.get("prompt") or str(request["messages"][-1]["content"])
    if prompt.startswith("{"):
        packet = json.loads(prompt)
        calls = [(each["tool"], each["args"]) for each in packet["candidate_actions"]]
        return Shown(packet["node_id"], calls)
    (node,) = _TARGET.findall(prompt)
    suggested = [(tool, _arguments(args)) for tool, args in _SUGGESTION.findall(prompt)]
    return Shown(node, suggested)


def _arguments(text: str) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in _ARGUMENT.findall(text)}


def call_for(shown: Shown, answers: Mapping[str, Answer]) -> Call:
    for tool, suggested in shown.suggested:
        args = answers[tool](shown, suggested) if tool in answers else None
        if args is not None:
            return tool, args
    return "submit_result", {"summary": "as people wrote it"}


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


def _docstrings(files: Mapping[str, str]) -> Answer:
    texts = {
        str(each.key): inspect.cleandoc(docstring_text(each.node.body) or "")
        for path, text in files.items()
        for each in find_definitions(ast.parse(text), escape_path(path))
    }

    def answered(shown: Shown, _args: dict[str, Any]) -> dict[str, Any] | None:
        summary, _, details = texts.get(shown.node, "").partition("\n\n")
        return {"summary": summary, "details": details} if summary else None

    return answered


def _signatures(slots: Sequence[HiddenSlot]) -> Answer:
    types: Mapping[str, dict[str, str]] = defaultdict(dict)
    for slot in slots:
        types[node_key(escape_path(slot.path), slot.qualname)][
            slot.part.removeprefix("parameter ")
        ] = slot.text

    answered_before: set[str] = set()

    def answered(shown: Shown, args: dict[str, Any]) -> dict[str, Any] | None:
        node = node_key(split_node_key(shown.node)[0], args["function"])
        known = dict(types[node])
        if not known or node in answered_before:
            return None
        answered_before.add(node)
        result = known.pop("return", "")
        parameters = ", ".join(f"{name}: {text}" for name, text in known.items())
        arrow = f" -> {result}" if result else ""
        return {**args, "signature": f"({parameters}){arrow}"}

    return answered


def main() -> None:
    project, operation = Path(sys.argv[1]), sys.argv[2]
    files = (each for each in project.rglob("*.py") if ".venv" not in each.parts)
    texts = {str(each.relative_to(project)): each.read_text("utf-8", "replace") for each in files}
    parsed = {path: text for path, text in texts.items() if not isinstance(parse_text(text), str)}
    restorer = BUILT_IN.restorers.get(operation)
    slots = restorer.find(parsed) if restorer is not None else ()
    with oracle_server(slots, files=parsed) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
