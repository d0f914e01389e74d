"""`doctor`: what this machine offers, and what is missing."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from remora.bootstrap import Caller, model_status, open_config
from remora.cli.asker import caller_of
from remora.cli.options import Options, command
from remora.cli.output import emit, plain
from remora.errors import ConfigError
from remora.runs.checkup import Check, deciding, isolation_level, machine
from remora.runs.definitions import check_definitions

_LEVELS = ("limits only", "Landlock", "user namespace and Landlock", "bubblewrap")


@command("doctor", examples=("remora doctor", "remora doctor --json"))
def doctor(options: Options) -> int:
    """Try everything that Remora needs here, and say what to do about what is missing.

    Exit 1 if something is missing without which `remora analyze` would fail.
    """
    caller = caller_of(options)
    root = caller.find_root()
    checks = [*machine(root, caller.folders), *_configured(caller), _agents(root)]
    level = isolation_level()
    ok = all(check.ok for check in checks if check.needed)
    document = {
        "ok": ok,
        "isolation": {"level": level, "name": _LEVELS[level]},
        "checks": [msgspec.to_builtins(check) for check in checks],
    }
    emit(options, document, _lines(checks, level))
    return 0 if ok else 1


def _configured(caller: Caller) -> list[Check]:
    """The configuration and the model that it names."""
    try:
        status = model_status(caller, open_config(caller, caller.find_root()))
    except ConfigError as error:
        wrong = Check(name="config", ok=False, detail=error.message, hint=error.hint)
        return [wrong]
    return [Check(name="config", ok=True, detail="every key is known"), *deciding(status)]


def _agents(root: Path) -> Check:
    """The definitions of agents: a wrong one is told at its place."""
    checked = check_definitions(root)
    wrong = next((one for one in checked if one.error), None)
    if wrong is not None:
        return Check(name="agents", ok=False, detail=wrong.error, hint=wrong.hint)
    return Check(name="agents", ok=True, detail=", ".join(one.name for one in checked))


def _lines(checks: Sequence[Check], level: int) -> Iterator[str]:
    for check in checks:
        mark, colour = ("ok", "green") if check.ok else ("--", "yellow")
        if not check.ok and check.needed:
            mark, colour = "NO", "red"
        yield f"{click.style(mark, fg=colour)}  {check.name:<10} {plain(check.detail)}"
        if not check.ok and check.hint:
            yield f"    {'':<10} {plain(check.hint)}"
    state = "not isolated" if level == 0 else "isolated"
    yield f"--  {'isolation':<10} L{level}, {_LEVELS[level]}: subprocesses are {state}"
