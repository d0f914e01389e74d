"""How much of a request is the same in each turn: the system text and the declarations of tools."""

from typing import Any

import pytest

from remora.agents.builtin_tools import BUILTIN_SCHEMAS
from remora.agents.decision.model_query import Question, request_tokens
from remora.agents.definition.agent import load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory import delta as make
from remora.memory.delta import PacketDelta
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.models.protocol import Strategy, TokenCounter
from remora.models.token_counters import UpperBound
from remora.operations.base import Operation
from remora.operations.docstring.operation import DOCSTRING
from remora.operations.lint.operation import LINT
from remora.operations.test.operation import TEST
from remora.operations.types.operation import TYPES
from remora.runs.execution.agent_settings import SMALL_LIMIT

OPERATIONS = (LINT, DOCSTRING, TEST, TYPES)
BYTES_PER_TOKEN = 4
AUTO = 8192 // 2
"""The limit of a server with 8,192 tokens."""
WAYS: list[tuple[str, Strategy]] = [
    ("lines/2", "tool_call"),
    ("lines/2", "grammar"),
    ("functiongemma/3", "completion"),
]


def fixed_tokens(
    operation: Operation, renderer: str, strategy: Strategy, counter: TokenCounter
) -> int:
    """The tokens of a request whose packet is empty, after the opening has called a tool."""
    agent = load_agent(operation.folder, BUILT_IN, builtin=True)
    tools = [*(tool.schema for tool in agent.tools.values()), *BUILTIN_SCHEMAS]
    instructions = agent.definition.instructions
    question = Question(strategy=strategy, history=(), instructions=instructions)
    opened = PacketDelta(add_action=make.new_action("t", {}, "", "success"))
    return request_tokens(counter, apply(DecisionPacket(), opened), tools, renderer, question)


@pytest.mark.parametrize(("renderer", "strategy"), WAYS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_of_a_server_with_8192_tokens_at_most_a_third(
    operation: Operation, renderer: str, strategy: Strategy
) -> None:
    size = fixed_tokens(operation, renderer, strategy, UpperBound())
    assert size / BYTES_PER_TOKEN <= AUTO / 3


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_of_the_embedded_model_two_thirds(operation: Operation, embedded: Any) -> None:
    size = fixed_tokens(operation, "lines/2", "grammar", embedded.counter)
    assert size <= SMALL_LIMIT * 2 / 3
