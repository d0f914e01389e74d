"""An OpenAI-compatible server that writes several summaries, of which one is right."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from remora.ids import escape_path, node_key
from remora.operations.restorer import Slot
from tests.openai_server import Handler, Server, answer, openai_server, send_json
from tests.oracle_server import Question, asked_for


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
        if question.about == "summary" and question.node in orders:
            text = orders[question.node][asked[question] % number]
            asked[question] += 1
        send_json(handler, answer(("describe", {"part": question.about, "text": text})))

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
