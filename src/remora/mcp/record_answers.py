"""Answers about recorded runs: the tools `runs` and `trace_packet`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import UsageError
from remora.ids import LAST
from remora.mcp.answer_page import PAGE, answer_text
from remora.memory.packet import packet_json
from remora.runs.project import ProjectRecords
from remora.runs.records.name_lookup import run_named, stream_named
from remora.runs.records.results import JobDocuments, read_run, run_document
from remora.runs.records.run_listing import list_run_lines
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.reader import read_events
from remora.trace.read.turn_positions import last_turn


class RecordAnswers:
    """Answers from a project's streams, which are read again for each answer.

    Secrets are replaced, also those in diffs, because answers leave this machine with other
    agents' prompts.
    """

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def runs(self, arguments: Mapping[str, Any]) -> str:
        """Return a page of the runs, newest first, or of the jobs of a run."""
        project = open_project(self._invocation)
        page = {"limit": arguments.get("limit", PAGE), "offset": arguments.get("offset", 0)}
        run, status = arguments.get("run"), arguments.get("status")
        if run is None:
            if status is not None:
                raise UsageError("`status` selects jobs of a run", hint="pass `run`, such as last")
            found = msgspec.to_builtins(list_run_lines(project.trace))
            document = project.redact.clean({"runs": found[::-1]})
            return answer_text(document, ("remora", "runs", "--json"), ("runs",), **page)
        view = read_run(project, run_named(project.trace, run), details=False)
        jobs = [job for job in view.jobs if status in (None, job.status)]
        document = project.redact.clean(
            run_document(project, view) | {"jobs": [*JobDocuments(jobs)]}
        )
        command = ("remora", "show", view.run_id, "--json")
        return answer_text(document, command, ("jobs",), **page)

    def packet(self, arguments: Mapping[str, Any]) -> str:
        """Return the packet of an agent's turn, as it was shown."""
        project = open_project(self._invocation)
        agent = _agent(project, arguments["agent"])
        path, turn = project.trace.existing_agent(agent), arguments.get("turn")
        number = last_turn(path) if turn is None else turn
        document = project.redact.clean(packet_json(packet_at(read_events(path), number)))
        command = ("remora", "trace", "packet", agent, "--turn", str(number), "--json")
        return answer_text(document, command)


def _agent(project: ProjectRecords, name: str) -> str:
    """Return the ID of the agent that a name refers to."""
    if name == LAST:
        raise UsageError("`last` is the name of a run", hint="pass an agent ID or a function")
    return stream_named(project.trace, name)
