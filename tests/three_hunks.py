"""A project with an agent whose change set has three hunks, of which the second needs the first."""

from tests.runs.review.test_recheck import CANDIDATES, HEAD, NOTHING_FORBIDDEN, YAML

LOADER = """\
from json import loads


def load(text):
    value = loads(text)
    size = len(text)
    return value, size
"""
EDITS = {1: "import json", 5: "    value = json.loads(text)", 7: "    return value, size  # both"}
_ACT = (
    HEAD
    + f"""\
@external
def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...

lines = read_text("mod.py").split("\\n")
for line, text in {EDITS}.items():
    edit_text("mod.py", line, lines[line - 1], text)
{{"result": "", "summary": "", "knowledge_delta": {{}}, "outcome": "success"}}
"""
)
_AGENT = {
    "agent.yaml": YAML.replace("CHECKS", "no_new_findings, nothing.pym"),
    "act.pym": _ACT,
    "candidates.pym": CANDIDATES.replace("TEXT", EDITS[1]).replace("PATH", "mod.py"),
    "nothing.pym": NOTHING_FORBIDDEN,
}
FILES = {
    "mod.py": LOADER,
    "ruff.toml": 'lint.select = ["F"]\n',
    **{f".remora/agents/own/{name}": text for name, text in _AGENT.items()},
}


def with_edits(*lines: int) -> str:
    """The file after the hunks that begin at these lines."""
    text = LOADER.splitlines(keepends=True)
    return "".join(EDITS[n] + "\n" if n in lines else line for n, line in enumerate(text, 1))
