"""An agent of the OpenAI Agents SDK whose model sees Remora's packets.

Run: python examples/openai_agents_memory.py FILE BASE_URL MODEL
"""

import asyncio
import json
import os
import sys
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunHooks,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from agents.items import ItemHelpers
from agents.run import CallModelData, ModelInputData
from lint_tools import INSTRUCTIONS, TOOLS, view_of
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall

import remora


class PacketMemory(RunHooks[None]):
    """Shows packets to the model, and records what it decides and what the tools return."""

    def __init__(self) -> None:
        self.recording: remora.Recording
        self.errors: dict[str, str] = {}

    def shown(self, _data: CallModelData[None]) -> ModelInputData:
        system, user = self.recording.model_request()
        return ModelInputData(
            instructions=system["content"], input=[{"role": "user", "content": user["content"]}]
        )

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        calls = [one for one in response.output if isinstance(one, ResponseFunctionToolCall)]
        self.recording.model_response(
            ItemHelpers.extract_text(response.output[-1]),
            [(one.call_id, one.name, one.arguments) for one in calls],
            [one.model_dump() for one in response.output],
        )

    def failed(self, context: Any, error: Exception) -> str:
        self.errors[context.tool_call_id] = str(error)
        return str(error)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        if error := self.errors.pop(context.tool_call_id, None):
            self.recording.tool_result(context.tool_call_id, error=error)
        else:
            view = view_of(tool.name, json.loads(context.tool_arguments), result)
            self.recording.tool_result(context.tool_call_id, result, view=view)


async def main(path: str, base_url: str, model: str) -> None:
    """Let the model fix the file, and print its answer and the recorded agent."""
    set_tracing_disabled(True)  # nothing is sent anywhere but to the model's server
    memory = PacketMemory()
    tools = [function_tool(each, failure_error_function=memory.failed) for each in TOOLS]
    schemas = [
        {"name": one.name, "description": one.description, "parameters": one.params_json_schema}
        for one in tools
    ]
    goal = f"Fix the lint findings of {path}"
    with remora.record(
        goal, instructions=INSTRUCTIONS, tools=schemas, model=model, operation="tidy"
    ) as memory.recording:
        client = AsyncOpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "none"))
        agent = Agent(name="tidy", model=OpenAIChatCompletionsModel(model, client), tools=[*tools])
        config = RunConfig(call_model_input_filter=memory.shown)
        done = await Runner.run(agent, goal, hooks=memory, run_config=config, max_turns=50)
    print(done.final_output, memory.recording.agent_id, sep="\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
