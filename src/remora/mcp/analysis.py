"""The tools `analyze` and `judge_change`, which run a command of Remora in its own process."""

import asyncio
from collections.abc import Mapping
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.errors import UsageError
from remora.ids import LAST
from remora.mcp.answer_page import Page, answer_text
from remora.mcp.project_data import ProjectRedactor
from remora.usecases.command_document import document_of

NOT_RUN = {"what": "what needs code to run", "why": "the server runs without --allow-run"}
"""Entry of a judgement by a server that may not run code."""
_MAX_TIME_S = 300.0
"""Seconds after which a run ends if the client does not set `max_time`."""


async def analyze(
    invocation: Invocation, project: ProjectRedactor, arguments: Mapping[str, Any]
) -> str:
    """Run agents, and return the run's document and how a person reviews its changes.

    If the call is cancelled, the run is interrupted. Raises UsageError if `changed` is an option,
    and RemoraError with the run's own message if it fails.
    """
    document = await document_of(invocation, _analyze_words(arguments))
    command = ("remora", "show", document.get("run_id") or LAST)
    clean = await asyncio.to_thread(lambda: project.redact.clean(document))
    return answer_text(clean | _next_steps(document), command, ("jobs",))


async def judge_change(
    invocation: Invocation, arguments: Mapping[str, Any], *, may_run: bool
) -> str:
    """Judge a change, and return what `remora judge --json` prints.

    Unless `may_run` is true, only what can be read is judged, and the answer says so. Raises
    UsageError if a revision is an option, and RemoraError with the command's message if it fails.
    """
    words = ["--staged"] if arguments.get("staged") else []
    if (diff := arguments.get("diff")) is not None:
        words += ["--diff", "-"]
    if (revisions := arguments.get("revisions")) is not None:
        words.append(as_revision(revisions))
    is_read = arguments.get("static", False) or not may_run
    static = ["--static"] if is_read else []
    document = await document_of(invocation, ["judge", *static, *words], (diff or "").encode())
    if is_read and not arguments.get("static"):
        document["unjudged"] = [NOT_RUN, *document["unjudged"]]
    return answer_text(document, ("remora", "judge", *words), ("problems", "unjudged"))


async def impact(
    invocation: Invocation, project: ProjectRedactor, arguments: Mapping[str, Any], *, may_run: bool
) -> Page:
    """Return what `remora hub impact` prints, as lines and as a document.

    Unless `may_run` is true, no tests run. Raises RemoraError with the command's message.
    """
    from remora.usecases.impact import impact_lines

    diff = arguments.get("diff")
    words = [f"--budget={arguments['budget']}"] if "budget" in arguments else []
    words += ["--run"] if may_run and arguments.get("run") else []
    words += ["--diff", "-"] if diff is not None else []
    words += ["--", arguments["name"]] if "name" in arguments else []
    document = await document_of(invocation, ["hub", "impact", *words], (diff or "").encode())
    if arguments.get("run") and not may_run:
        document["run"] = {"unjudged": NOT_RUN["why"]}
    clean = await asyncio.to_thread(lambda: project.redact.clean(document))
    return Page("\n".join(impact_lines(clean)), document=clean)


def _analyze_words(arguments: Mapping[str, Any]) -> list[str]:
    words = ["analyze", f"--max-time={arguments.get('max_time', _MAX_TIME_S)}"]
    words += [f"--operation={operation}" for operation in arguments.get("operations", ())]
    if (revision := arguments.get("changed")) is not None:
        words.append(f"--changed={as_revision(revision)}")
    return [*words, "--", *arguments.get("paths", ())]


def _next_steps(document: Mapping[str, Any]) -> dict[str, str]:
    if not document.get("jobs"):
        return {"next": f"no symbol needs work; a person can run `{document['next']['command']}`"}
    run = document["run_id"]
    shown = f"`remora diff {run}` shows the changes"
    return {"next": f"{shown}; only a person can accept, with `remora review {run}`"}


def as_revision(text: str) -> str:
    """Return a revision. Raises UsageError if it is an option, which click would take it for."""
    if text.startswith("-"):
        raise UsageError(f"{text!r} is not a git revision", hint="name a branch or commit")
    return text
