"""A Pydantic AI agent whose model sees Remora's packets.

Run: python examples/pydantic_ai_memory.py FILE BASE_URL MODEL
"""

import asyncio
import os
import sys
from dataclasses import asdict, replace
from typing import Any

from lint_tools import INSTRUCTIONS, TOOLS, view_of
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import remora

PARTS = {"system": SystemPromptPart, "user": UserPromptPart}


class PacketMemory(AbstractCapability[None]):
    """Shows packets to the model, and records what it decides and what the tools return."""

    def __init__(self, recording: remora.Recording) -> None:
        self.recording = recording

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        shown = [PARTS[one["role"]](one["content"]) for one in self.recording.model_request()]
        answer = await handler(replace(request_context, messages=[ModelRequest(parts=shown)]))
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        self.recording.model_response(
            answer.text,
            [(one.tool_call_id, one.tool_name, one.args or {}) for one in calls],
            asdict(answer),
        )
        return answer

    async def on_tool_validate_error(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Any
    ) -> Any:
        self.recording.tool_result(call.tool_call_id, error=str(error))
        raise error

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        try:
            output = await handler(args)
        except Exception as error:
            self.recording.tool_result(call.tool_call_id, error=str(error))
            return str(error)
        view = view_of(call.tool_name, args, output)
        self.recording.tool_result(call.tool_call_id, output, view=view)
        return output


async def main(path: str, base_url: str, model: str) -> None:
    """Let the model fix the file, and print its answer and the recorded agent."""
    tools: list[Tool[None]] = [Tool(function) for function in TOOLS]
    schemas = [
        {"name": t.name, "description": t.description, "parameters": t.parameters_json_schema}
        for t in (tool.tool_def for tool in tools)
    ]
    goal = f"Fix the lint findings of {path}"
    with remora.record(
        goal, instructions=INSTRUCTIONS, tools=schemas, model=model, operation="tidy"
    ) as recording:
        key = os.environ.get("OPENAI_API_KEY", "none")
        server = OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=key))
        agent = Agent(server, tools=tools, capabilities=[PacketMemory(recording)])
        done = await agent.run(goal)
    print(done.output, recording.agent_id, sep="\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
