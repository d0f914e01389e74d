"""What counts as done, declined or limited in the streams of small models, and what readers see."""

from pathlib import Path
from typing import Any

import pytest
from job_streams import JobStream, share
from small_models import Task, before


def event(kind: str, **data: Any) -> dict[str, Any]:
    at = "2026-01-01T00:00:00.000000Z"
    return {"type": kind, "data": data, "packet_delta": None, "timestamp": at}


def call(tool: str, after: str = "", *, by: str = "model") -> list[dict[str, Any]]:
    changes = [{"path": "a.py", "before": "0", "after": after}] if after else []
    done = event("tool_result", tool=tool, outcome="success", changes=changes)
    return [event("tool_call", tool=tool, decided_by=by), done]


def ended(after: str = "", *, reason: str = "submitted") -> dict[str, Any]:
    status = "submitted" if after else "no_change"
    change_set = [{"path": "a.py", "before": "0", "after": after}] if after else []
    return event("agent_end", status=status, stop_reason=reason, change_set=change_set)


OPENING = [*call("fix_findings", "1", by="rule"), event("model_request")]


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ([], "not planned"),
        ([*OPENING, *call("edit_lines", "2"), ended("2")], "done"),
        ([*OPENING, *call("edit_lines", "2"), ended("1", reason="repeated_call")], "repeated_call"),
        ([*OPENING, *call("leave"), ended("1")], "declined"),
        ([*OPENING, *call("submit_result"), ended()], "declined"),
        (
            [*OPENING, *call("read_code"), *call("submit_result", by="rule"), ended("1")],
            "submitted",
        ),
        ([*OPENING, *call("edit_lines", "2")], "interrupted"),
    ],
)
def test_only_what_a_model_wrote_and_what_is_left_of_it_is_done(
    events: list[dict[str, Any]], verdict: str
) -> None:
    assert JobStream(events).verdict == verdict


def test_shares_have_the_interval_of_wilson() -> None:
    assert share(9, 10) == "9 of 10, 90.0% [59.6%, 98.2%]"


def test_readers_see_the_whole_function_that_a_patch_of_a_file_changes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n\n\ndef f():\n    return x\n\n\ndef g():\n    pass\n")
    patch = "--- a/a.py\n+++ b/a.py\n@@ -3,3 +3,3 @@\n \n def f():\n-    return x\n+    return 1\n"
    shown = [*before(Task("lint", str(tmp_path), "a.py:__module__"), patch)]
    assert shown == ["a.py:4", "| def f():", "|     return x"]
