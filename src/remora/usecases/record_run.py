"""The `record` function, which records a run of another program's agent."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remora.agents.job import Job
from remora.bootstrap.open_project import open_with
from remora.errors import UsageError
from remora.ids import MODULE, agent_id, escape_path, is_id, node_key
from remora.runs.execution.run import require_positive
from remora.runs.project import Project
from remora.runs.recording import RecordedTask, Recording, open_recording, tool_schemas
from remora.text import escape_surrogates
from remora.usecases.analyze.prepare_run import next_run_id
from remora.usecases.analyze.session import create_records


@contextmanager
def record(  # noqa: PLR0913 (one keyword for each fact about the run)
    goal: str,
    *,
    instructions: str = "",
    tools: Sequence[Mapping[str, Any]] = (),
    model: str = "",
    operation: str = "task",
    target: str = ".",
    max_turns: int = 50,
    limit: int = 12_000,
    root: str | Path | Project | None = None,
) -> Iterator[Recording]:
    """Record a run of another program's agent in the project's streams.

    The program's model is shown packets instead of the history. The run ends when the context ends,
    and an error that leaves the context is recorded.

    - `instructions` is the system message.
    - `tools` are the tools that the model may call, as `{"name", "description", "parameters"}`.
    - `model` is the model's name.
    - `operation` is a name for the kind of task, and the start of the agent's ID.
    - `target` is the file or folder to work on, relative to the project's root.
    - `max_turns` is shown in the packet. The program has to enforce it.
    - `limit` is the maximum size of a request in tokens, in which each byte counts as a token.
    """
    if not is_id(operation) or len(operation) > 40:
        raise UsageError(
            f"{operation!r} cannot be the name of an operation",
            hint="use at most 40 lower-case letters, digits, `-`, `_` and `.`",
        )
    require_positive(max_turns=max_turns, limit=limit)
    task = RecordedTask(
        goal=goal,
        instructions=instructions,
        tools=tool_schemas(tools),
        model=escape_surrogates(model),
        max_turns=max_turns,
        limit=limit,
    )
    _, project = open_with(root)
    if operation in {known.name for known in project.operations.all}:
        raise UsageError(
            f"{operation} is an operation of Remora's", hint="choose another name for the task"
        )
    create_records(project)
    run_id, node_id = next_run_id(project), node_key(escape_path(target))
    job = Job(
        run_id=run_id,
        agent_id=agent_id(operation, run_id, node_id, 1),
        operation=operation,
        node_id=node_id,
        node_type="",
        node_name=target,
        node_summary="",
        path=target,
        qualname=MODULE,
    )
    with open_recording(project, job, task) as recording:
        yield recording
