"""An agent with a script of every kind, each of which takes what may change from run to run."""

import shutil

from tests.agents.conftest import Play, Played, Theatre
from tests.offered_calls import offered

YAML = """
    name: own
    operation: own
    goal: Try everything on {node_name}
    tools:
      - {name: act, script: act.pym, grants: [read_text, edit_text], summarizer: told.pym}
    context:
      - {script: first.pym, grants: [list_files]}
      - {script: second.pym}
    max_submissions: 1
    candidates: {script: candidates.pym, grants: [read_text]}
    packet_extension: {type: object, properties: {files: {type: integer}}}
    verify: [parses, own.pym, texts.pym]
    """
FIRST = """
    from remora.pym import external
    import random, time
    @external
    async def list_files(pattern: str) -> list[str]: ...
    found = await list_files("**/*.py")
    {"result": [found, random.random(), time.time()], "summary": "", "outcome": "success",
     "extensions": {"files": len(found)}, "knowledge_delta": {"odd": float("nan")}}
    """
SECOND = """
    from remora.pym import Input
    packet: dict = Input("packet")
    {"result": "é" * 70000 + "\\ud800", "summary": "", "outcome": "success",
     "state_summary": f"{packet['extensions']['files']} files"}
    """
CANDIDATES = """
    from remora.pym import Input, external
    target: dict = Input("target")
    packet: dict = Input("packet")
    options: dict = Input("options")
    @external
    def read_text(path: str) -> str: ...
    done = "changed" in read_text(target["path"])
    actions = [{"tool": "submit_result", "args": {}, "reason": str(options["open"])}]
    if not done:
        actions = [{"tool": "act", "args": {"word": word}, "reason": str(packet["turn"])}
                   for word in ("changed", "changed_too")]
    {"result": len(actions), "summary": "", "outcome": "success", "candidate_actions": actions}
    """
ACT = """
    import random, time
    from remora.pym import Input, external
    word: str = Input("word")
    packet: dict = Input("packet")
    options: dict = Input("options")
    target: dict = Input("target")
    @external
    def read_text(path: str) -> str: ...
    @external
    def edit_text(path: str, line: int, expect: str, replace: str) -> dict: ...
    line = target["last"]
    text = read_text(target["path"]).split("\\n")[line - 1]
    edit_text(target["path"], line, text, f"    return '{word}'")
    {"line": line, "was": text, "b": b"\\xff", "big": 2 ** 200, "half": ["\\ud800", float("nan")],
     "turn": [packet["turn"], options["open"]], "now": [random.random(), time.time()]}
    """
TOLD = """
    from typing import Any
    from remora.pym import Input
    raw: Any = Input("raw")
    {"summary": f"line {raw['line']} was {raw['was'].strip()}", "knowledge": {"was": raw["was"]}}
    """
OWN = """
    from remora.pym import Input
    files: list = Input("files")
    target: dict = Input("target")
    findings_before: list = Input("findings_before")
    findings_after: list = Input("findings_after")
    len(files) == 1 and len(findings_before) == len(findings_after) and target["path"] == "mod.py"
    """
TEXTS = """
    from remora.pym import Input
    files: list = Input("files")
    f"{files[0]['before'][:9]}… became {files[0]['after'].count('changed')} changed"
    """
SCRIPTS = {
    "first": FIRST,
    "second": SECOND,
    "candidates": CANDIDATES,
    "act": ACT,
    "told": TOLD,
    "own": OWN,
    "texts": TEXTS,
}


def everything(theatre: Theatre, *, long: bool = True) -> Played:
    """A job of that agent, which fails by its second check. `long`: with what goes to blobs."""
    scripts = SCRIPTS if long else SCRIPTS | {"second": SECOND.replace("70000", "70")}
    agent = theatre.agent(YAML, **scripts)
    played = theatre.play(
        Play(
            agent=agent,
            answers=lambda request: (offered(request)[1:] or offered(request))[0],
            opening=False,
        )
    )
    shutil.rmtree(agent.folder)
    return played
