"""The real embedded model: what it is asked, what it counts, how its process ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.agents.builtin_tools import BUILTIN_SCHEMAS
from remora.agents.decision.model_query import Question, request_tokens
from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolSchema
from remora.errors import ContextTooLarge, ModelError
from remora.memory import delta as make
from remora.memory.budget import fit
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.excerpts import code_lines
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.client.retry_policy import RequestLimits
from remora.models.decoding.grammar import tool_call_grammar
from remora.models.embedded import weights
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.embedded.known_models import DEFAULT
from remora.models.protocol import Decoding, Request, Strategy, TokenCounter
from tests.models.decoding.written_calls import parse_call

STABLE = "You maintain Python code. Choose the best next action.\n" + "\n".join(
    f"tool_{n}(path: string, line: integer) - does step {n} of the work" for n in range(8)
)
LETTER = Decoding(strategy="grammar", grammar="root ::= [A-Z]", max_tokens=1, seed=1)
TURN_1 = "Turn 1.\nA. run\nB. stop"
TOOLS = (
    ToolSchema(name="stop"),
    ToolSchema(
        name="edit",
        parameters={
            "type": "object",
            "properties": {
                "path": {"enum": ["src/a.py", "src/b.py"]},
                "line": {"type": "integer"},
                "text": {"type": "string", "maxLength": 20},
                "keep": {"type": "boolean"},
            },
            "required": ["path", "line"],
        },
    ),
)


def test_a_grammar_answer_is_a_valid_call(embedded: Any) -> None:
    decoding = Decoding(strategy="grammar", grammar=tool_call_grammar(TOOLS), max_tokens=100)
    answer = embedded.ask(decoding, STABLE, "Edit line 3 of src/a.py.")
    assert parse_call(answer.text, TOOLS).tool in ("stop", "edit")
    assert answer.finish_reason == "stop"
    assert answer.raw["model"] == embedded.model.name == "SmolLM2-135M-Instruct"


@pytest.mark.parametrize(
    "user",
    [
        "Choose.",
        "",
        "é 漢字 \U0001f600 \u200b",
        "<|im_end|>\n<|im_start|>user\nA",
        " \t\r\n x  " * 9,
    ],
    ids=["plain", "empty", "unicode", "special tokens", "spaces"],
)
def test_our_count_is_the_servers(embedded: Any, said: Any, user: str) -> None:
    decoding = Decoding(strategy="grammar", grammar='root ::= "A"', max_tokens=4)
    answer = embedded.ask(decoding, "You choose.", user)
    assert embedded.model.counter.count_messages(said("You choose.", user)) == (
        answer.usage.prompt_tokens
    )
    assert embedded.model.counter.basis == "tokenizer"
    assert embedded.model.counter.name == "tokenizer/SmolLM2-135M-Instruct"


def test_a_finished_prompt_is_counted_and_completed(embedded: Any) -> None:
    prompt = "def add(a, b):\n    return"
    answer = embedded.ask(Decoding(strategy="completion", max_tokens=4), prompt=prompt)
    assert embedded.model.counter.count_text(prompt) == answer.usage.prompt_tokens
    assert answer.text


def test_a_common_prefix_is_not_evaluated_again(embedded: Any) -> None:
    first = embedded.ask(LETTER, STABLE, "Turn 1.\nA. run\nB. stop")
    second = embedded.ask(LETTER, STABLE, "Turn 2.\nA. read\nB. stop")
    assert first.usage.prompt_tokens > 150
    assert second.usage.evaluated < 40


def test_a_request_beyond_the_context_is_refused_before_it_is_sent(embedded: Any) -> None:
    with pytest.raises(ContextTooLarge, match=f"{DEFAULT.context} tokens"):
        embedded.ask(LETTER, STABLE, "word " * DEFAULT.context)


def test_a_grammar_that_the_server_cannot_read_is_a_model_error(embedded: Any) -> None:
    with pytest.raises(ModelError, match="grammar"):
        embedded.ask(Decoding(strategy="grammar", grammar="root ::= nothing"), STABLE, "x")


def secrets_in_argv(pid: int) -> list[str]:
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return [word for word in words if len(word) >= 32 and "/" not in word]


@pytest.mark.slow
def test_exact_repeats_bit_for_bit_whatever_came_between(start_embedded: Any) -> None:
    asking = start_embedded(exact=True)
    first = asking.ask(LETTER, "You choose.", TURN_1)
    other = asking.ask(LETTER, "You choose.", "Turn 2.\nA. read\nB. go")
    again = asking.ask(LETTER, "You choose.", TURN_1)
    assert first.raw["choices"] == again.raw["choices"]
    assert other.usage.evaluated == other.usage.prompt_tokens
    in_another_process = start_embedded(exact=True)
    assert in_another_process.ask(LETTER, "You choose.", TURN_1).text == first.text


@pytest.mark.slow
def test_a_killed_server_is_restarted_once_per_run(start_embedded: Any) -> None:
    asking = start_embedded()
    for _ in range(2):
        assert asking.ask(LETTER, STABLE, "A. run").text
        os.kill(asking.model.pid, signal.SIGKILL)
    with pytest.raises(ModelError, match="exited 2 times"):
        asking.ask(LETTER, STABLE, "A. run")


@pytest.mark.slow
def test_a_server_that_a_busy_machine_holds_up_is_waited_for(start_embedded: Any) -> None:
    asking = start_embedded(timeout_s=8.0)
    first = asking.ask(LETTER, STABLE, TURN_1)
    os.kill(asking.model.pid, signal.SIGSTOP)
    threading.Timer(10.0, os.kill, (asking.model.pid, signal.SIGCONT)).start()
    assert asking.ask(LETTER, STABLE, TURN_1).text == first.text


def test_a_closed_model_starts_no_server(start_embedded: Any) -> None:
    asking = start_embedded()
    asking.run(asking.model.aclose())
    with pytest.raises(ModelError, match="closed"):
        asking.ask(LETTER, STABLE, "A. run")


PARENT = """
import sys, time
from pathlib import Path
from remora.models.client.retry_policy import RequestLimits
from remora.models.embedded.embedded_model import EmbeddedModel
model = EmbeddedModel(Path(sys.argv[1]), exact=True, limits=RequestLimits())
assert not model.pid, "nothing starts before the first question"
model.counter.count_text("x")
print(model.pid, flush=True)
{then}
"""


def start_parent(cache: Path, then: str) -> tuple[subprocess.Popen[str], int]:
    words = [sys.executable, "-c", PARENT.format(then=then), str(cache)]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        return parent, int(parent.stdout.readline())


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends_within(pid: int, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_the_server_ends_when_its_parent_is_killed(weights_cache: Path) -> None:
    parent, child = start_parent(weights_cache, "time.sleep(60)")
    assert alive(child)
    assert secrets_in_argv(child) == []
    parent.kill()
    parent.wait()
    assert ends_within(child, 10)


@pytest.mark.slow
def test_the_server_ends_though_a_forked_process_keeps_its_input_open(weights_cache: Path) -> None:
    then = "import os\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\ntime.sleep(60)"
    parent, child = start_parent(weights_cache, then)
    parent.kill()
    parent.wait()
    assert ends_within(child, 10)


@pytest.mark.slow
def test_the_server_ends_with_a_parent_that_forgot_to_close_and_prints_nothing(
    weights_cache: Path,
) -> None:
    words = [sys.executable, "-c", PARENT.format(then=""), str(weights_cache)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert ends_within(int(done.stdout), 10)


def test_missing_weights_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="are missing") as caught:
        EmbeddedModel(tmp_path, exact=False, limits=RequestLimits())
    assert "remora model pull" in caught.value.hint


def test_damaged_weights_are_not_loaded(tmp_path: Path) -> None:
    path = weights.weights_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match="are damaged") as caught:
        EmbeddedModel(tmp_path, exact=False, limits=RequestLimits())
    assert "remora model pull" in caught.value.hint


def test_without_the_extra_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelError) as caught:
        EmbeddedModel(tmp_path, exact=False, limits=RequestLimits())
    assert "[embedded]'" in caught.value.hint


def test_a_server_that_cannot_start_says_why(weights_cache: Path, tmp_path: Path) -> None:
    from remora.models.embedded.server_process import ServerOptions, ServerProcess

    options = ServerOptions(
        weights=tmp_path / "none.gguf", name="m", context=512, slots=1, threads=1, cache_mib=0
    )
    process = ServerProcess(options)
    with pytest.raises(ModelError, match=r"did not start; its last line: \S"):
        process.ensure_running()
    process.close()


SCHEMAS: list[dict[str, Any]] = [
    {},
    {"properties": {"n": {"type": "number"}}, "required": ["n"]},
    {"properties": {"xs": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}}},
    {
        "properties": {
            "xs": {"type": "array", "items": {"enum": ["é", '"', "\\"]}, "minItems": 2}
            | {"maxItems": 4}
        },
        "required": ["xs"],
    },
    {
        "properties": {
            "a": {"type": "boolean"},
            "o": {
                "type": "object",
                "properties": {"x": {"type": "null"}, "y": {"enum": [1, "1", None]}},
                "required": ["y"],
            },
            "s": {"type": "string", "minLength": 1, "maxLength": 8},
        },
        "required": ["o", "s"],
    },
    {"properties": {"u": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "required": ["u"]},
    {
        "properties": {"d": {"type": "object", "additionalProperties": {"type": "boolean"}}},
        "required": ["d"],
    },
    {
        "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}},
        "properties": {"n": {"$ref": "#/$defs/n"}},
    },
    {"properties": {"any": {}}, "required": ["any"]},
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
@pytest.mark.parametrize("strategy", ["grammar", "json_schema"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_server_takes_every_form_and_its_answers_are_calls(
    embedded: Any, number: int, strategy: Strategy, seed: int
) -> None:
    tools = [ToolSchema(name="do_it", parameters=SCHEMAS[number])]
    base = Decoding(strategy=strategy, max_tokens=300, temperature=1.0, seed=seed)
    decoding = STRATEGIES[strategy].constrain(base, tools)
    answer = embedded.ask(decoding, "You call tools.", "Call do_it with short arguments.")
    if answer.finish_reason == "length":  # an open-ended type may run into the limit
        assert number in (6, 7, 8)
        return
    assert parse_call(answer.text, tools).tool == "do_it"


def test_two_at_a_time(embedded: Any, said: Callable[..., Any]) -> None:
    import asyncio

    async def both() -> list[Any]:
        requests = [Request(messages=said(STABLE, f"{n}"), decoding=LETTER) for n in range(4)]
        return await asyncio.gather(*map(embedded.model.ask, requests))

    answers = embedded.run(both())
    assert all(len(answer.text) == 1 for answer in answers)


NODE = "node:shop/cart.py:total"
FOCUS = 262
FINDINGS = [
    "E711 line 262: comparison to None",
    *(f"B9{n:02} line {270 + n}: the loop variable is not used in its body" for n in range(7)),
]
CODE = ["def total(rows, rates, *, rounded=True):", *["    # about prices"] * 14]
CODE += ["    if rates.get(row.code) == None:", "        missing.append(row.code)"]
CODE += [f"    {name} = prices.pop({name!r}, default)" for name in "abcdefghijklmno"]
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fix_findings": ("Fix what has a fix.", {}),
    "read_code": ("Show lines.", {"first": INTEGER, "last": INTEGER}),
    "edit_lines": (
        "Replace lines; an empty text deletes them.",
        {"first": INTEGER, "last": INTEGER, "text": TEXT},
    ),
    "find_text": ("Show lines with a text.", {"text": TEXT}),
    "read_callers": ("Show its calls.", {"name": TEXT}),
    "run_code": ("Show what an expression gives.", {"code": TEXT}),
}
LATE_TOOLS = (
    *(
        ToolSchema(
            name=name,
            description=description,
            parameters={"type": "object", "properties": arguments, "required": [*arguments]},
        )
        for name, (description, arguments) in ARGUMENTS.items()
    ),
    *BUILTIN_SCHEMAS,
)
QUESTION = Question(strategy="grammar", history=())


def late_packet() -> DecisionPacket:
    """The packet before turn 20 of a job whose tools returned much."""
    memory = ContextManager(
        {
            "goal": "Remove the lint findings of total",
            "operation": "lint",
            "node_id": NODE,
            "node_type": "function",
            "node_summary": "def total(rows, rates, *, rounded=True) (31 lines)",
            "constraints": {"max_turns": 30, "safety": ["parses", "fewer_findings"]},
        }
    )
    for turn in range(1, 20):
        edit = {
            "first": 250 + turn,
            "last": 251 + turn,
            "text": f"    value_{turn} = rates[{turn}]",
        }
        result = {
            "tool": "edit_lines",
            "args": edit,
            "raw_output": [{"id": f"row-{turn}-{n}", "price": n + 0.5} for n in range(60)],
            "summary": f"Replaced lines {edit['first']}-{edit['last']} with 1; 8 findings left",
            "diagnostics": FINDINGS,
        }
        delta = memory.delta_for(result)
        memory.packet = apply(memory.packet, PacketDelta(turn=turn))
        memory.packet = apply(memory.packet, delta)
    excerpt = make.excerpt("code", "shop/cart.py", 247, "\n".join(CODE), FOCUS)
    suggestions = [make.candidate("leave", {"item": text}, "if it is right") for text in FINDINGS]
    update = PacketDelta(
        turn=20,
        excerpt=excerpt,
        set_error="with this text, line 262 cannot be parsed: '(' was never closed",
        candidate_actions=(*suggestions[:3], make.candidate("submit_result", {}, "if it is done")),
        hub_context={NODE: {"callers": [f"node:shop/{n}.py:run" for n in "abcd"]}},
    )
    return apply(memory.packet, update)


def tokens_of(counter: TokenCounter) -> Callable[[DecisionPacket], int]:
    return lambda packet: request_tokens(counter, packet, LATE_TOOLS, "lines/2", QUESTION)


@pytest.mark.slow
class TestALateRequest:
    @pytest.fixture
    def measure(self, embedded: Any) -> Callable[[DecisionPacket], int]:
        return tokens_of(embedded.model.counter)

    def test_of_3000_tokens(self, measure: Callable[[DecisionPacket], int]) -> None:
        packet = late_packet()
        shown = fit(packet, 3000, measure).packet
        assert len(shown.recent_actions) == 10
        assert shown.excerpt == packet.excerpt
        assert shown.diagnostics == tuple(FINDINGS)
        assert shown.knowledge

    def test_of_600_tokens(self, measure: Callable[[DecisionPacket], int]) -> None:
        shown = fit(late_packet(), 600, measure).packet
        assert len(shown.recent_actions) >= 3
        assert shown.excerpt is not None
        lines = dict(code_lines(shown.excerpt))
        assert {247, FOCUS - 1, FOCUS, FOCUS + 1} <= set(lines)
        assert shown.diagnostics[0] == FINDINGS[0]
        assert shown.last_error

    def test_a_third_of_it_is_fixed_text(self, measure: Callable[[DecisionPacket], int]) -> None:
        actions = late_packet().recent_actions
        one, two = (measure(DecisionPacket(recent_actions=actions[:n])) for n in (1, 2))
        assert one - (two - one) <= 200
