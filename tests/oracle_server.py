"""An OpenAI-compatible server that answers with what people wrote.

It shows how much of what people wrote the rest of Remora can carry into the files, so every miss is
a fault of the harness, and not of a model.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from remora.ids import escape_path, node_key
from remora.operations.restorer import Slot
from tests.openai_server import Handler, Server, answer, openai_server, send_json

_TARGET = re.compile(r"^Target: docstring \w+ (\S+)$", re.MULTILINE)
_ACTION = re.compile(r'^- describe\(part="([^"]+)"\)', re.MULTILINE)
_PART_OF = {"outcome": "returns"}


class Question(NamedTuple):
    """The function and the part of its docstring that a request asks for."""

    node: str
    part: str


@contextmanager
def oracle_server(slots: Sequence[Slot]) -> Iterator[Server]:
    """Serve the texts of `slots`. Where people wrote nothing, the text of an answer is empty."""
    texts: dict[tuple[str, str], str] = {
        (node_key(escape_path(slot.path), slot.qualname), slot.part): slot.text for slot in slots
    }

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        node, part = asked_for(request)
        text = texts.get((node, _PART_OF.get(part, part)), "")
        send_json(handler, answer(("describe", {"part": part, "text": text})))

    with openai_server(chat, model="oracle") as server:
        yield server


def asked_for(request: dict[str, Any]) -> Question:
    """Read the target and the open action from a prompt, which shows the packet as lines or JSON."""
    prompt = str(request["messages"][-1]["content"])
    if prompt.startswith("{"):
        packet = json.loads(prompt)
        (action,) = packet["candidate_actions"]
        return Question(packet["node_id"], action["args"]["part"])
    (node,), (part,) = _TARGET.findall(prompt), _ACTION.findall(prompt)
    return Question(node, part)


@contextmanager
def undecided_server(
    slots: Sequence[Slot], others: Sequence[str], *, number: int
) -> Iterator[Server]:
    """Serve the summary of a function in turn with summaries of other functions.

    Each function has `number` answers, in an order that its name decides. The other ones are those
    of `others` that share the most words with its own. Other parts get an empty text.
    """
    texts = {node_key(escape_path(slot.path), slot.qualname): slot.text for slot in slots}
    orders: dict[str, list[str]] = {
        node: _mixed(node, text, others, number) for node, text in texts.items()
    }
    asked: Counter[Question] = Counter()

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        question = asked_for(request)
        text = ""
        if question.part == "summary" and question.node in orders:
            text = orders[question.node][asked[question] % number]
            asked[question] += 1
        send_json(handler, answer(("describe", {"part": question.part, "text": text})))

    with openai_server(chat, model="undecided") as server:
        yield server


def _mixed(node: str, own: str, others: Sequence[str], number: int) -> list[str]:
    words = set(own.casefold().split())
    near = sorted(
        {text for text in others if text != own},
        key=lambda text: (-len(words & set(text.casefold().split())) / len(text.split()), text),
    )
    found = [own, *near[: number - 1]]
    random.Random(node).shuffle(found)
    return found
