"""An OpenAI-compatible server that answers with what people wrote.

It shows how much of what people wrote the rest of Remora can carry into the files, so every miss is
a fault of the harness, and not of a model. It answers by the tool that a question is about: parts
of docstrings, types of signatures, and lines without findings.

    python -m tests.oracle_server PROJECT OPERATION

prints its address, and serves what people wrote in a project until its input is closed.
"""

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
from remora.ids import escape_path, node_key, split_node_key
from remora.operations.restorer import Slot
from tests.openai_server import Handler, Server, answer, openai_server, send_json

_TARGET = re.compile(r"^Target: \w+ \w+ (\S+)$", re.MULTILINE)
_ACTION = re.compile(r"^- (\w+)\((?:line=\d+, )?(\w+)=(\"(?:[^\"\\\n]|\\.)*\")\)", re.MULTILINE)
_LINE = re.compile(r"^- edit_line\(line=(\d+),", re.MULTILINE)
_PART_OF = {"outcome": "returns"}
_NO_TEXTS: Mapping[str, str] = {}


class Question(NamedTuple):
    """The node that a request is about, and the tool that it asks for, with the known argument."""

    node: str
    tool: str
    about: str
    line: int = 0


@contextmanager
def oracle_server(
    slots: Sequence[Slot] = (), lines: Mapping[str, str] = _NO_TEXTS
) -> Iterator[Server]:
    """Serve what people wrote in `slots`.

    `lines` maps lines with a finding to those that people wrote. Where people wrote nothing, the
    text of an answer is empty.
    """
    answers = {
        "describe": _descriptions(slots),
        "edit_line": lambda question: _edit(question, lines),
        "propose_types": _signatures(slots),
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


def main() -> None:
    project, operation = Path(sys.argv[1]), sys.argv[2]
    files = (each for each in project.rglob("*.py") if ".venv" not in each.parts)
    texts = {str(each.relative_to(project)): each.read_text("utf-8", "replace") for each in files}
    parsed = {path: text for path, text in texts.items() if not isinstance(parse_text(text), str)}
    with oracle_server(BUILT_IN.restorers[operation].find(parsed)) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
