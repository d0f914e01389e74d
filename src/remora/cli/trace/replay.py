"""The `trace replay` command, which reruns recorded scripts using only the records."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, indented, print_error
from remora.cli.app.project_context import trace_folder_of
from remora.errors import UsageError
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.agents.replay import AgentReplay

_RESULTS = {True: ("same", "green"), False: ("DIFFERS", "red"), None: ("unknown", "yellow")}


@command("replay", examples=("remora trace replay lint-3f2a", "remora trace replay --json"))
@click.argument("agent", required=False)
def replay(options: Options, agent: str | None) -> int:
    """Rerun the scripts of an agent, or of all, and compare the results with the record.

    Scripts are tools, context scripts, candidates scripts, summarizers and checks. The inputs,
    packet, clock, seed and answers of host functions are read from the stream and from
    .agentfs/objects. A replay does not use any model, the Hub or your files, and it does not write
    anything. Exit with 1 if a result differs from the record. `unknown` means that the record is
    incomplete. In this case, the reason is shown.
    """
    import msgspec

    from remora.agents.replay import replay_agent
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.trace_folder import stream_id

    folder = trace_folder_of(options)
    names = [stream_id(path) for path in folder.agent_streams()]
    if agent is not None:
        names = [_require_agent(stream_named(folder, agent), names)]
    replays = [replay_agent(folder, name) for name in names]
    ok = all(replayed.ok for replayed in replays)
    document = {"ok": ok, "agents": msgspec.to_builtins(replays)}
    emit(options, document, _replay_lines(replays, verbose=options.verbose))
    for replayed in replays:
        if replayed.error:
            print_error(
                "stream_damaged", replayed.error, "see `remora trace verify`", as_json=False
            )
    return 0 if ok else 1


def _require_agent(name: str, agents: Sequence[str]) -> str:
    if name not in agents:
        raise UsageError(
            f"{name} is a run, not an agent", hint="only agents run scripts: use an agent ID"
        )
    return name


def _replay_lines(replays: "Sequence[AgentReplay]", *, verbose: bool) -> Iterator[str]:
    for replayed in replays:
        yield from _agent_lines(replayed, whole=verbose or len(replays) == 1)
    if not replays:
        yield "no agents yet; run `remora analyze` to start some"
        return
    totals = Counter(script.same for replayed in replays for script in replayed.scripts)
    parts = [
        f"{totals[same]} {_RESULTS[same][0]}" for same in (True, False, None) if same in totals
    ]
    yield f"replayed {count(totals.total(), 'script run')}: {', '.join(parts) or 'none recorded'}"


def _agent_lines(replay: "AgentReplay", *, whole: bool) -> Iterator[str]:
    shown = [script for script in replay.scripts if whole or script.same is False]
    if shown:
        yield click.style(escape_line(replay.agent_id), bold=True)
    for script in shown:
        word, color = _RESULTS[script.same]
        head = f"turn {script.turn:>3}  {script.kind:<10}  {script.script}"
        yield f"  {click.style(f'{word:<7}', fg=color)}  {escape_line(head)}"
        if script.detail:
            yield from indented(script.detail, " " * 11)
