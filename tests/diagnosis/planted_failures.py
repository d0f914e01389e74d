"""Nine jobs that fail for a known cause, and six that do not: real runs of a project's own agent.

Each has a project of its own with one file, an agent with `.pym` scripts, and, where a model
decides, a server on loopback that reads its prompt and answers with a call.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.cli.conftest import Done, Remora, git, write
from tests.openai_server import Handler, Server, answer, openai_server, send_json

FILE = "src/price.py"
OPERATION = "planted"
SOURCE = '''\
"""Prices of orders."""


def total(order):
    unused = order.coupon
    subtotal = order.net
    return subtotal + order.tax
'''
PRINTS = "".join(f"    print(order.{name}_fee)\n" for name in (
    "shipping", "packing", "express", "customs", "storage", "return", "service", "payment",
    "handling", "insurance", "gift", "weekend",
))  # fmt: skip
"""Twelve calls, of which a small packet shows only some."""
Answer = Callable[[str, int], tuple[str, dict[str, Any]]]
"""Makes a call from a prompt and the number of the request, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """A `.pym` script: the functions that it may call, what it is given, and its body.

    `inputs` are the arguments that a model fills in, with their types.
    """

    body: str
    grants: Sequence[str] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        inputs = {**self.inputs, "target": "dict"}
        lines = ['"""Planted."""', "", "from remora.pym import Input, external", ""]
        lines += [f'{name}: {kind} = Input("{name}")' for name, kind in inputs.items()]
        lines += [_EXTERNALS[name] for name in self.grants]
        return "\n".join([*lines, "", self.body.strip(), ""])


_EXTERNALS = {
    "read_text": "\n\n@external\ndef read_text(path: str) -> str: ...\n",
    "edit_text": "\n\n@external\ndef edit_text(\n"
    "    path: str, line: int, expect: str, replace: str | None\n) -> dict: ...\n",
}
READ, EDIT = ("read_text",), ("read_text", "edit_text")
LINES = 'lines = read_text(target["path"]).split("\\n")\n'


def result(value: str, summary: str, more: str = "") -> str:
    """Return the last expression of a script that keeps to the contract."""
    return (
        f'{{"result": {value}, "summary": {summary}, "knowledge_delta": {{}}, '
        f'"outcome": "success"{more}}}'
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A planted job.

    `kind` is the kind of its cause, and `answers` makes the calls of the model, if one is asked.
    `review` is what the user does after the run.
    """

    name: str
    kind: str
    tools: Mapping[str, Script]
    candidates: Script | None = None
    check: Script | None = None
    answers: Answer | None = None
    chat: Callable[[Handler, dict[str, Any], int], None] | None = None
    source: str = SOURCE
    max_turns: int = 6
    settings: Mapping[str, str] = field(default_factory=dict)
    review: Callable[[Remora, Path], object] | None = None

    @property
    def files(self) -> dict[str, str]:
        folder = f".remora/agents/{OPERATION}"
        checks = ["parses", *(["check.pym"] if self.check is not None else [])]
        lines = [
            f"name: {OPERATION}",
            f"operation: {OPERATION}",
            "description: Planted.",
            "goal: Tidy {node_name}",
            "node_types: [function]",
            "needs: always",
            f"max_turns: {self.max_turns}",
            f"verify: [{', '.join(checks)}]",
            "tools:",
        ]
        for name, tool in self.tools.items():
            lines += [
                f"  - name: {name}",
                f"    script: {name}.pym",
                f"    description: {name.replace('_', ' ')}.",
                f"    grants: [{', '.join(tool.grants)}]",
            ]
        if self.candidates is not None:
            grants = ", ".join(self.candidates.grants)
            lines += ["candidates:", "  script: candidates.pym", f"  grants: [{grants}]"]
        scripts = {**self.tools, "candidates": self.candidates}
        texts = {name: each.text for name, each in scripts.items() if each is not None}
        if self.check is not None:
            texts["check"] = self.check.body
        return {
            FILE: self.source,
            f"{folder}/agent.yaml": "\n".join([*lines, ""]),
            **{f"{folder}/{name}.pym": text for name, text in texts.items()},
        }


@dataclass(frozen=True)
class Planted:
    """A job that ran: where, and by which agent."""

    case: Case
    root: Path
    agent_id: str
    run_id: str
    done: Done


def plant(case: Case, root: Path, user: Remora) -> Planted:
    """Run the job of a case in a new project."""
    root.mkdir(parents=True)
    write(root, case.files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    quick = {
        "REMORA_MODEL__RETRIES": "0",
        "REMORA_HUB__ENABLED": "false",
        "REMORA_RUNNER__OPENING": "false",
        **case.settings,
    }
    user = replace(user, environ={**quick, **user.environ})
    with _server(case) as server:
        model = ["--model", "none" if server is None else server.address]
        done = user(
            "analyze", "src", "-o", OPERATION, "--node", "total", *model, "--json", cwd=root
        )
    assert done.out, done.err
    (job,) = done.document["jobs"]
    if case.review is not None:
        case.review(user, root)
    return Planted(case, root, job["agent_id"], done.document["run_id"], done)


@contextmanager
def _server(case: Case) -> Iterator[Server | None]:
    answers = case.answers

    def chat(handler: Handler, request: dict[str, Any], number: int) -> None:
        assert answers is not None
        prompt = str(request["messages"][-1]["content"])
        send_json(handler, answer(answers(prompt, number)))

    if case.chat is None and answers is None:
        with nullcontext() as nothing:
            yield nothing
        return
    with openai_server(case.chat or chat) as server:
        yield server


def in_turn(*calls: tuple[str, dict[str, Any]]) -> Answer:
    """Make these calls one after the other, and the last one again and again."""
    return lambda _prompt, number: calls[min(number, len(calls)) - 1]


# --- the model decides without the error, or without a line -------------------

CHECK = Script(
    grants=READ,
    body=LINES
    + """
known = [line.split("=")[0].strip() for line in lines if " = " in line]
found = [
    f"price.py:{number}: error: name 'unused' is assigned and never used"
    for number, line in enumerate(lines, 1)
    if line.strip().startswith("unused")
]
report = "\\n".join(["reading price.py", f"{len(known)} names", *found, "done"])
"""
    + result("report", '"Checked price.py"'),
)
SUMMARY_LOST = Case(
    name="summary lost the error",
    kind="summary_lost",
    tools={"check": CHECK, "check_again": CHECK},
    answers=in_turn(("check", {}), ("check_again", {})),
)

FIND_PRINTS = Script(
    grants=READ,
    body=LINES
    + """
found = [
    f"line {number} of the function prints {line.strip()[6:-1]}, which no caller of it needs"
    for number, line in enumerate(lines, 1)
    if line.strip().startswith("print(")
]
"""
    + result("len(found)", 'f"Found {len(found)} calls"', ', "diagnostics": found'),
)
REMOVE_PRINT = Script(
    grants=EDIT,
    inputs={"line": "int"},
    body=LINES
    + 'edit_text(target["path"], line, lines[line - 1], "    pass")\n'
    + result("line", 'f"Removed line {line}"'),
)
NO_PRINTS = Script(
    body='''\
"""No print call may be left."""

from remora.pym import Input

files: list = Input("files")

left = [
    f"line {number} still prints {line.strip()[6:-1]}"
    for file in files
    for number, line in enumerate((file["after"] or "").split("\\n"), 1)
    if line.strip().startswith("print(")
]
left[-1] if left else True
'''
)


def _remove_what_is_shown(prompt: str, number: int) -> tuple[str, dict[str, Any]]:
    """Find, then remove each print call that the prompt shows, and submit."""
    if number == 1:
        return "find_prints", {}
    shown = [int(line) for line in re.findall(r"line (\d+) of the function prints", prompt)]
    if number - 2 < len(shown):
        return "remove_print", {"line": shown[number - 2]}
    return "submit_result", {}


BUDGET_DROPPED = Case(
    name="budget dropped the line",
    kind="budget_dropped",
    source=SOURCE.replace("    return", PRINTS + "    return"),
    tools={"find_prints": FIND_PRINTS, "remove_print": REMOVE_PRINT},
    check=NO_PRINTS,
    answers=_remove_what_is_shown,
    max_turns=15,
    settings={"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "2400"},
)

REMOVE_UNUSED = Script(
    grants=EDIT,
    inputs={"line": "int"},
    body='edit_text(target["path"], line, "    unused = order.coupon", None)\n'
    + result("1", '"Removed an unused name"'),
)
# --- the model decides wrongly ----------------------------------------------------------------

REMOVE_LINE = Script(
    grants=EDIT,
    inputs={"line": "int"},
    body=LINES
    + 'edit_text(target["path"], line, lines[line - 1], None)\n'
    + result("line", 'f"Removed line {line}"'),
)
ONE_LINE = Script(
    grants=READ,
    body=LINES
    + """
actions = [
    {"tool": "remove_line", "args": {"line": 5}, "reason": "unused is never used"},
    {"tool": "remove_line", "args": {"line": 6}, "reason": "subtotal is used in line 7"},
]
if len(lines) < 8:
    actions = [{"tool": "submit_result", "args": {}, "reason": "a line was removed"}]
"""
    + result("1", '""', ', "candidate_actions": actions'),
)
DEFINED = Script(
    body='''\
"""Names that are used must be defined."""

from remora.pym import Input

files: list = Input("files")

texts = [file["after"] or "" for file in files]
wrong = [text for text in texts if "return subtotal" in text and "subtotal =" not in text]
"the name 'subtotal' is used in the last line and is not defined" if wrong else True
'''
)
WRONG_CHOICE = Case(
    name="wrong choice on good facts",
    kind="check_failed",
    tools={"remove_line": REMOVE_LINE},
    candidates=ONE_LINE,
    check=DEFINED,
    answers=in_turn(("remove_line", {"line": 6}), *[("submit_result", {})] * 3),
)

# --- a tool fails, or nothing moves -----------------------------------------------------------

CRASH = Script(
    grants=READ,
    body=LINES
    + "words = [line.split() for line in lines]\n"
    + result("words[2][0]", '"Read the first word"'),
)


def only(tool: str, args: str = "{}") -> Script:
    """Offer one call, which rules make without a model."""
    actions = f'[{{"tool": "{tool}", "args": {args}, "reason": "planted"}}]'
    return Script(
        body=f"actions = {actions}\n" + result("1", '""', ', "candidate_actions": actions')
    )


TOOL_CRASH = Case(
    name="tool crash",
    kind="tool_failed",
    tools={"first_word": CRASH},
    candidates=only("first_word"),
)


def _sleeps(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    time.sleep(1.5)
    send_json(handler, answer(("check", {})))


TIME_OUT = Case(
    name="time-out",
    kind="model_failed",
    tools={"check": CHECK},
    chat=_sleeps,
    settings={"REMORA_MODEL__TIMEOUT_S": "0.2"},
)
ENDLESS = Script(body="number = 0\nwhile True:\n    number += 1\n" + result("number", '"Counted"'))
TOOL_TIME_OUT = Case(
    name="time-out of a tool",
    kind="tool_failed",
    tools={"count": ENDLESS},
    candidates=only("count"),
    max_turns=1,
)

SWAP = Script(
    grants=EDIT,
    inputs={"name": "str"},
    body=LINES
    + 'edit_text(target["path"], 5, lines[4], "    " + name + " = order.coupon")\n'
    + result("name", 'f"Renamed it to {name}"'),
)
LOOP = Case(
    name="loop",
    kind="loop",
    tools={"rename": SWAP},
    answers=lambda _prompt, number: ("rename", {"name": ("unused", "coupon")[number % 2]}),
)

STRIPPED = Script(
    grants=EDIT,
    inputs={"line": "int"},
    body=LINES
    + 'edit_text(target["path"], line, lines[line - 1].strip(), None)\n'
    + result("line", 'f"Removed line {line}"'),
)
REFUSED_EDIT = Case(
    name="refused edit",
    kind="tool_failed",
    tools={"remove_line": STRIPPED},
    candidates=only("remove_line", '{"line": 5}'),
)

# --- after the run, and at the server ---------------------------------------------------------


def _edit_and_accept(user: Remora, root: Path) -> None:
    path = root / FILE
    path.write_text(path.read_text().replace("unused = order.coupon", "coupon = order.voucher"))
    assert user("accept", "--untested", "last", "--all", cwd=root).code == 1


CONFLICT = Case(
    name="conflict",
    kind="conflict",
    tools={"remove_line": REMOVE_LINE},
    candidates=replace(ONE_LINE, body=ONE_LINE.body.replace('{"line": 6}', '{"line": 5}')),
    review=_edit_and_accept,
)


TRUNCATED = {"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 0}}


def _truncates(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    send_json(handler, {**answer(("check", {})), "usage": TRUNCATED})


CONTEXT_TRUNCATED = Case(
    name="context truncated by the server",
    kind="context_truncated",
    tools={"check": CHECK},
    chat=_truncates,
)
ALL = (
    SUMMARY_LOST,
    BUDGET_DROPPED,
    WRONG_CHOICE,
    TOOL_CRASH,
    TIME_OUT,
    LOOP,
    REFUSED_EDIT,
    CONFLICT,
    CONTEXT_TRUNCATED,
)
"""The planted failures."""

# --- jobs that do not fail, or for another reason ---------------------------------------------

HEALTHY = replace(CONFLICT, name="healthy", kind="verified", review=None)
NOTHING_TO_DO = Case(
    name="nothing to do", kind="no_change", tools={"check": CHECK}, candidates=only("submit_result")
)
RECOVERED = Case(
    name="an error that the model corrects",
    kind="verified",
    tools={"remove_unused": REMOVE_UNUSED},
    answers=in_turn(
        ("remove_unused", {"line": 4}), ("remove_unused", {"line": 5}), ("submit_result", {})
    ),
)
HARMLESS = Script(
    grants=READ,
    body=LINES
    + 'report = f"error handling is complete\\n0 errors in {len(lines)} lines\\nno error"\n'
    + result("report", '"Checked price.py"'),
)
HARMLESS_WORDS = Case(
    name="the word error in the output, twice",
    kind="no_change",
    tools={"check": HARMLESS, "check_again": HARMLESS},
    answers=in_turn(("check", {}), ("check_again", {}), ("submit_result", {})),
)
REJECTED = replace(
    HEALTHY,
    name="rejected by the user",
    review=lambda user, root: user("reject", "last", "--all", cwd=root),
)
REFUSED_BY_CHECK = replace(
    WRONG_CHOICE,
    name="rules whose change a check refuses",
    kind="check_failed",
    answers=None,
    candidates=replace(
        ONE_LINE, body=ONE_LINE.body.replace("5}", "6}").replace("line in", "line of")
    ),
)
HEALTHY_OR_UNUSUAL = (
    HEALTHY, NOTHING_TO_DO, RECOVERED, HARMLESS_WORDS, REJECTED, REFUSED_BY_CHECK
)  # fmt: skip
"""Jobs that must not be blamed on any of these causes."""
