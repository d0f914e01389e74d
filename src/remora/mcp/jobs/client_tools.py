"""The tools of jobs: to take one, to give it up, and the tools of the project's agents.

A call of an agent's tool is the answer to the question of the job, so the agent runs it, on its own
private copy, and records it like the call of any model. The names and the arguments are the agent's,
with the job's ID beside them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from remora.agents.builtin_tools import SUBMIT
from remora.agents.definition.agent import Agent
from remora.chat import ToolSchema
from remora.mcp.tool_list import ToolSpec

JOB = "job"
"""The argument with the ID that `next_job` gives."""
_GIVEN = {"type": "string"}
GIVE_UP = ToolSpec(
    "give_up",
    "End a job that you cannot do. What rules have done is kept.",
    {JOB: _GIVEN, "because": {"type": "string"}},
    (JOB, "because"),
    is_read_only=False,
)


def next_job_tool(operations: Iterable[str]) -> ToolSpec:
    """Return the tool with which a client takes a job of one of some operations."""
    return ToolSpec(
        "next_job",
        "Take the next job: a function or file of this project that needs work, what is known of "
        "it, and the tools for it. Each of their answers shows the job again. It is done when you "
        f"call {SUBMIT}; checks then judge it, and a person accepts. With `{JOB}`, show a job again.",
        {
            "operation": {"enum": [*operations]},
            "path": {"type": "string", "description": "file or folder"},
            JOB: _GIVEN,
        },
        is_read_only=False,
    )


def agent_tools(agents: Iterable[Agent]) -> Mapping[str, ToolSpec]:
    """Return the tools of some agents by name. Those of the same name become one."""
    found = dict[str, ToolSpec]()
    for agent in agents:
        for schema in agent.schemas:
            made = _tool(schema)
            known = found.get(made.name, made)
            required = tuple(name for name in made.required if name in known.required)
            properties = {**made.properties, **known.properties}
            found[made.name] = known._replace(properties=properties, required=required)
    return found


def _tool(schema: ToolSchema) -> ToolSpec:
    properties: dict[str, Any] = schema.parameters.get("properties", {})
    required = schema.parameters.get("required", ())
    return ToolSpec(
        schema.name,
        schema.description or schema.name,
        {JOB: _GIVEN, **properties},
        (JOB, *required),
        is_read_only=False,
        checked=(JOB,),
    )
