"""Tools: scripts run on a tree through closed host functions, their results one contract."""

from remora.tools.check import ScriptCheck, check_script
from remora.tools.contract import ToolResult, as_result
from remora.tools.host.added import new_findings
from remora.tools.lint import lint_findings, lint_text
from remora.tools.registry import HOST_FUNCTIONS, bind
from remora.tools.toolbox import Tool, ToolRun, not_run, replay_tool, run_tool

__all__ = [
    "HOST_FUNCTIONS",
    "ScriptCheck",
    "Tool",
    "ToolResult",
    "ToolRun",
    "as_result",
    "bind",
    "check_script",
    "lint_findings",
    "lint_text",
    "new_findings",
    "not_run",
    "replay_tool",
    "run_tool",
]
