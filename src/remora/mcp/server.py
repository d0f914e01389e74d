"""The MCP server: tools on the protocol's official implementation."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from remora.bootstrap.invocation import Invocation
from remora.errors import NotFound, RemoraError
from remora.json_schema import validator
from remora.mcp.analysis import analyze, impact, judge_change
from remora.mcp.answer_page import Page, neutral
from remora.mcp.call_arguments import place_paths, read_values, with_arguments
from remora.mcp.edit_verdict import verify_edit
from remora.mcp.hub_answers import HubAnswers
from remora.mcp.project_data import EXPLANATION, MAX_ERROR, ProjectRedactor, marked
from remora.mcp.record_answers import RecordAnswers
from remora.mcp.tool_list import (
    ANALYZE,
    CONTEXT,
    HUB_CALLERS,
    HUB_SEARCH,
    IMPACT,
    JUDGE_CHANGE,
    RUNS,
    TRACE_PACKET,
    VERIFY_EDIT,
    ToolSpec,
)
from remora.text import REPORT, bug_report_line, clip
from remora.version import __version__

if TYPE_CHECKING:  # a server without jobs plans and runs nothing in its own process
    from remora.mcp.jobs.job_answers import JobAnswers

_log = logging.getLogger("remora.mcp")
_INSTRUCTIONS = (
    "Facts about this Python project's functions, and what Remora's agents did to it. "
    "Use context instead of grep and of reading files. " + EXPLANATION
)
_INSTEAD = {
    CONTEXT.name: (HUB_SEARCH.name, "with a part of the name"),
    HUB_CALLERS.name: (HUB_SEARCH.name, "with a part of the name"),
    RUNS.name: (RUNS.name, "without arguments to list the runs"),
    TRACE_PACKET.name: (RUNS.name, "with run=last to list agent IDs"),
}
"""The tool to call if a name does not exist, and how."""

_MAX_VALUE = 100
"""Maximum characters of an argument in an error about it."""
Answer = Callable[[Mapping[str, Any]], Awaitable[str | Page]]
Offered = tuple[ToolSpec, Callable[[Mapping[str, Any], str], Awaitable[str | Page]]]
"""A tool with what answers its calls, which is given the client's name."""


class Allowance(NamedTuple):
    """What a person lets a server offer."""

    may_run: bool = False
    """True to run code of the project."""
    writable: Sequence[str] = ()
    """Patterns of the files to which `verify_edit` writes edits that nothing is said against."""
    all_tools: bool = False
    """True for all tools. If code may run, one of them starts runs."""


class Handlers:
    """The protocol's requests, answered for one project. Every error says what to do instead."""

    def __init__(
        self,
        hub: HubAnswers,
        records: RecordAnswers,
        invocation: Invocation,
        project: ProjectRedactor,
        allowed: Allowance,
    ) -> None:
        may_run, writable, all_tools = allowed
        self._project = project
        self._invocation = invocation
        self._offered = dict[str, Offered]()
        self._offer(CONTEXT, hub.context)
        concern = partial(impact, invocation, project, may_run=may_run)
        self._offer(IMPACT, _one_at_a_time(concern))
        judge = partial(judge_change, invocation, may_run=may_run)
        self._offer(JUDGE_CHANGE, _one_at_a_time(judge))
        verify = partial(verify_edit, invocation, project, may_run=may_run, writable=writable)
        self._offer(VERIFY_EDIT, _one_at_a_time(verify))
        if not all_tools:
            return
        self._offer(HUB_CALLERS, hub.callers)
        self._offer(HUB_SEARCH, hub.search)
        self._offer(RUNS, partial(_in_thread, records.runs))
        self._offer(TRACE_PACKET, partial(_in_thread, records.packet))
        if may_run:
            self._offer(ANALYZE, _one_at_a_time(partial(analyze, invocation, project)))

    def _offer(self, spec: ToolSpec, answer: Answer) -> None:
        self._offered[spec.name] = spec, lambda given, _: answer(given)

    def offer_jobs(self, jobs: "JobAnswers") -> None:
        """Offer the tools of jobs, in place of those about runs and changes."""
        for spec in (RUNS, TRACE_PACKET, JUDGE_CHANGE, VERIFY_EDIT, ANALYZE):
            self._offered.pop(spec.name, None)
        for name, spec in jobs.tools.items():
            self._offered[name] = spec, partial(_in_thread, jobs.answer, name)

    async def list_tools(self, *_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(spec) for spec, _ in self._offered.values()])

    async def call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self._offered:
            name = clip(params.name, _MAX_VALUE)
            return _failed(f"no tool {name!r}", self._about_missing_tool(params.name))
        tool, answered = self._offered[params.name]
        try:
            arguments = read_values(params.arguments or {}, tool)
            problem = next(validator(tool.strict_schema).iter_errors(arguments), None)
            if problem is not None:
                place = "".join(f"{part}: " for part in problem.path)
                value = repr(problem.instance)
                message = problem.message.replace(value, clip(value, _MAX_VALUE))
                about = clip(f"invalid arguments: {place}{message}", MAX_ERROR)
                return _failed(about, f"call {tool.call}")
            placed = place_paths(arguments, tool, self._invocation.find_root())
            answer = await answered(placed, _client_name(context))
        except Exception as error:  # noqa: BLE001 (a bug in a tool is an answer, too)
            instead = self._instead(tool) if isinstance(error, NotFound) else ""
            return _failed(await self._error_text(error), instead, between="\n")
        return _result(answer)

    def _instead(self, tool: ToolSpec) -> str:
        """Return what to call if a name does not exist."""
        other, how = _INSTEAD.get(tool.name, ("", ""))
        return f"call {other} {how}" if other in self._offered else ""

    def _about_missing_tool(self, name: str) -> str:
        if name == ANALYZE.name:
            return "runs are not allowed: the person can start `remora mcp --allow-run`"
        return f"call one of: {', '.join(self._offered)}"

    async def _error_text(self, error: Exception) -> str:
        if not isinstance(error, RemoraError):
            _log.error("the request was answered with an error", exc_info=error)
            error = RemoraError(bug_report_line(error), hint=REPORT)
        text: str = await _in_thread(self._project.error_text, error)
        return text


def create_server(handlers: Handlers) -> Server[Any]:
    """Return a server that answers with `handlers`, on any transport."""
    server = Server[Any](
        "remora",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )
    server.middleware.append(with_arguments)
    return server


def _tool(tool: ToolSpec) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True) if tool.is_read_only else None
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints
    )


def _client_name(context: ServerRequestContext[Any]) -> str:
    """Return the name that a client gives itself, or `unknown`."""
    params = context.session.client_params
    return "unknown" if params is None else neutral(clip(params.client_info.name, _MAX_VALUE))


def _result(answer: str | Page) -> types.CallToolResult:
    """Return the result of a call. A text is a JSON document, which programs get as it is."""
    if isinstance(answer, str):
        answer = Page(answer, document=json.loads(answer))
    text = "\n".join(filter(None, (neutral(answer.words), answer.data and marked(answer.data))))
    document = _neutral_values(answer.document)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=document)


def _neutral_values(value: Any) -> Any:
    """Return a JSON document in which all texts are neutral."""
    match value:
        case str():
            return neutral(value)
        case Mapping():
            return {neutral(key): _neutral_values(item) for key, item in value.items()}
        case list():
            return [_neutral_values(item) for item in value]
    return value


def _failed(*parts: str, between: str = "; ") -> types.CallToolResult:
    text = neutral("error: " + between.join(part for part in parts if part))
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _one_at_a_time(answer: Answer) -> Answer:
    """Return a function that answers calls one after the other."""
    lock = anyio.Lock()

    async def answer_next(arguments: Mapping[str, Any]) -> str | Page:
        async with lock:
            return await answer(arguments)

    return answer_next


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a thread. If the call is cancelled, its result is dropped."""
    return await anyio.to_thread.run_sync(partial(function, *arguments), abandon_on_cancel=True)
