"""Agents: definitions, the turn loop, and the translation between tools, models and streams."""

from remora.agents.agent import Agent, load_agent, load_agents
from remora.agents.job import AgentResult, Job
from remora.agents.runner import AgentRunner, FunctionGemmaRunner
from remora.agents.stage import Stage

__all__ = [
    "Agent",
    "AgentResult",
    "AgentRunner",
    "FunctionGemmaRunner",
    "Job",
    "Stage",
    "load_agent",
    "load_agents",
]
