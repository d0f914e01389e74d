"""An OpenAI-compatible server that answers with what people wrote.

It shows how much of what people wrote the rest of Remora can carry into the files, so every miss is
a fault of the harness, and not of a model.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from remora.ids import escape_path, node_key
from remora.operations.restorer import Slot
from tests.openai_server import Handler, Server, answer, openai_server, send_json

_TARGET = re.compile(r"^Target: \w+ \w+ (\S+)$", re.MULTILINE)
_ACTION = re.compile(r'^- (\w+)\((\w+)="([^"]+)"\)', re.MULTILINE)
_PART_OF = {"outcome": "returns"}
_MODULE = ":__module__"


class Question(NamedTuple):
    """The node that a request is about, and the tool and the argument of the open action."""

    node: str
    tool: str
    value: str


Args = dict[str, str]
Answer = Callable[[Question], Args]
"""Returns the arguments of a call that answers a question."""


@contextmanager
def oracle_server(slots: Sequence[Slot]) -> Iterator[Server]:
    """Serve the texts of `slots`. Where people wrote nothing, the text of an answer is empty."""
    answers = {"describe": _descriptions(slots), "propose_types": _signatures(slots)}

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        question = asked_for(request)
        send_json(handler, answer((question.tool, answers[question.tool](question))))

    with openai_server(chat, model="oracle") as server:
        yield server


def _descriptions(slots: Sequence[Slot]) -> Answer:
    texts = {(_key(slot), slot.part): slot.text for slot in slots}

    def described(question: Question) -> Args:
        part = _PART_OF.get(question.value, question.value)
        return {"part": question.value, "text": texts.get((question.node, part), "")}

    return described


def _signatures(slots: Sequence[Slot]) -> Answer:
    types: Mapping[str, dict[str, str]] = defaultdict(dict)
    for slot in slots:
        types[_key(slot)][slot.part.removeprefix("parameter ")] = slot.text

    def signature(question: Question) -> Args:
        known = dict(types[question.node.removesuffix(_MODULE) + f":{question.value}"])
        result = known.pop("return", "")
        parameters = ", ".join(f"{name}: {text}" for name, text in known.items())
        arrow = f" -> {result}" if result else ""
        return {"function": question.value, "signature": f"({parameters}){arrow}"}

    return signature


def _key(slot: Slot) -> str:
    return node_key(escape_path(slot.path), slot.qualname)


def asked_for(request: dict[str, Any]) -> Question:
    """Read the target and the open action from a prompt, which shows the packet as lines or JSON."""
    prompt = str(request["messages"][-1]["content"])
    if prompt.startswith("{"):
        packet = json.loads(prompt)
        (action,) = packet["candidate_actions"]
        (value,) = action["args"].values()
        return Question(packet["node_id"], action["tool"], value)
    (node,), ((tool, _, value),) = _TARGET.findall(prompt), _ACTION.findall(prompt)
    return Question(node, tool, value)
