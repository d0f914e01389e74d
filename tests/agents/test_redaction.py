"""What stands for a secret comes from nobody back into a file, and no answer brings one in."""

import json

from remora.agents.redaction import placeholder_in_args, placeholder_in_files
from remora.memory.events import ModelResponse, SubmitResult, ToolCalled, ToolResulted
from tests.agents.conftest import SUBMIT, Play, Theatre

MARK = "<secret:jwt:0123456789ab>"
TOKEN = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
WRITES = """
from remora.pym import Input, external

text: str = Input("text", default="")

@external
def write_new_file(path: str, text: str) -> dict: ...

write_new_file("made.py", text or "# <secret:jwt:" + "0123456789ab>")
"""


def call(text: str) -> str:
    return json.dumps({"tool": "act", "args": {"text": text}}, separators=(",", ":"))


def test_a_call_with_a_placeholder_is_carried_out_only_if_the_file_has_it(theatre: Theatre) -> None:
    agent = theatre.tool(WRITES, grants=["write_new_file"])
    played = theatre.play(Play(agent=agent, answers=[call(f"x = '{MARK}'"), SUBMIT]))
    result, _ = played.payloads(ToolResulted)
    assert (result.outcome, result.error_kind, result.changes) == ("error", "denied", ())
    assert MARK in result.error
    assert played.result.status == "no_change"
    agent = theatre.tool(WRITES, grants=["write_new_file"])
    source = f"def f():\n    return '{MARK}'\n"
    answers = [call(f"x = '{MARK}'"), SUBMIT]
    played = theatre.play(Play(agent=agent, answers=answers, source=source))
    assert played.payloads(ToolResulted)[0].outcome == "success"


def test_a_file_into_which_a_tool_wrote_one_is_refused(theatre: Theatre) -> None:
    agent = theatre.tool(WRITES, grants=["write_new_file"], more="max_submissions: 1\n")
    answers = ['{"tool":"act","args":{}}', SUBMIT]
    played = theatre.play(Play(agent=agent, answers=answers))
    assert (played.result.status, played.result.stop_reason) == ("failed", "verification")
    (submitted,) = played.payloads(SubmitResult)
    assert [check["name"] for check in submitted.checks] == ["no_placeholders"]
    assert not submitted.verified


def test_a_secret_in_an_answer_is_neither_kept_nor_acted_upon(theatre: Theatre) -> None:
    agent = theatre.tool(WRITES, grants=["write_new_file"])
    played = theatre.play(Play(agent=agent, answers=[call(f"x = '{TOKEN}'"), SUBMIT]))
    (stream,) = played.folder.agent_streams()
    assert TOKEN.encode() not in stream.read_bytes()
    assert "<secret:github-token:" in played.payloads(ModelResponse)[0].text
    assert "<secret:github-token:" in played.payloads(ToolCalled)[0].args["text"]
    assert played.payloads(ToolResulted)[0].error_kind == "denied"


def test_only_what_is_new_is_refused() -> None:
    assert (
        placeholder_in_files([(MARK.encode(), MARK.encode() * 2), (None, b"x"), (b"x", None)])
        is None
    )
    assert placeholder_in_files([(b"", b"x"), (b"x", MARK.encode())]) is not None
    assert placeholder_in_args({"a": [{MARK: 1}]}, None) is not None
    assert placeholder_in_args({"a": [{MARK: 1}]}, MARK.encode()) is None
