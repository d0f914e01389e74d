"""What the scripts of the types agent report."""

from typing import Any

from remora.operations.types.operation import TYPES
from remora.pym import Limits, load
from tests.clock import ticking


def _summary(*why: str) -> str:
    left = {"counts": {"missing annotation": 30}, "summary": "30 annotations are missing"}
    done: Any = {"written": 0, "judges": "ty", "left": left, "why_left": [*why]}
    tool = load(TYPES.folder / "tools" / "write_annotations.pym")
    target = {"target": {"path": "mod.py", "nodes": []}}
    host: Any = {"write_annotations": lambda *_: done}
    ran = tool.run(target, host, limits=Limits(), clock=ticking()(), seed=0)
    assert ran.error is None, ran.error
    found: Any = ran.value
    return str(found["summary"])


def test_reasons_in_a_summary_are_whole() -> None:
    first, second, third = (f"{word * 60} ({word} functions)" for word in "123")
    begin = "Nothing written; 30 annotations are missing"
    assert _summary() == begin
    assert _summary(first, second, third) == f"{begin} because {first}"
    assert _summary(first, second, "short") == f"{begin} because {first}; short"
