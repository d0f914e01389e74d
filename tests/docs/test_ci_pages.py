"""The pages on hooks and CI agree with the hook, the action and the schemas."""

import re
from pathlib import Path
from typing import Any

import yaml

from remora.runs.records.run_events import LINES
from remora.runs.report.check_document import CheckDocument

ROOT = Path(__file__).parents[2]
HOW_TO = (ROOT / "docs/how-to/run-in-ci.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/ci-output.md").read_text(encoding="utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def blocks() -> list[Any]:
    found = re.findall(r"^```yaml\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(block) for block in found]


def test_the_hooks_of_the_page_exist() -> None:
    repository, *given, local, _, _ = blocks()
    ids = [hook["id"] for hook in HOOKS]
    assert [hook["id"] for hook in repository["repos"][0]["hooks"]] == ids
    for arguments in given:
        assert [hook["id"] for hook in arguments] == ids[:1]
        assert arguments[0]["args"][-1] == "--"
    (hook,), (ours, _) = local["repos"][0]["hooks"], HOOKS
    assert hook["entry"].split() == [*ours["entry"].split(), *ours["args"]]
    same = ("id", "name", "types", "require_serial")
    assert [hook[key] for key in same] == [ours[key] for key in same]


def test_the_workflow_uses_inputs_that_the_action_has() -> None:
    *_, workflow, (_, judging) = blocks()
    for step in (workflow["jobs"]["check"]["steps"][-1], judging):
        assert set(step["with"]) <= set(ACTION["inputs"])
    table = HOW_TO.partition("| input |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(ACTION["inputs"])
    for name in ACTION["outputs"]:
        assert f"`{name}`" in HOW_TO.partition("The outputs are")[2].partition("\n")[0]


def test_every_key_and_every_line_is_described() -> None:
    for key in CheckDocument.__struct_fields__:
        assert f"`{key}`" in REFERENCE
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", REFERENCE, re.MULTILINE)
    described = {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in rows}
    for line in LINES:
        config = line.__struct_config__
        assert described[str(config.tag)] >= set(line.__struct_fields__) - {"time"}
