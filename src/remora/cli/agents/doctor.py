"""The `doctor` command, which checks that this machine meets Remora's requirements."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, indented
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import working
from remora.errors import ConfigError

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.operations.base import Operations
    from remora.runs.doctor import DoctorCheck
    from remora.sandbox.isolation import MissingLevel

_MARGIN = " " * 15


@command("doctor", examples=("remora doctor", "remora doctor --json"))
def doctor(options: Options) -> int:
    """Check that this machine meets Remora's requirements.

    Also show the isolation level of subprocesses: 0 (limits only), 1 (Landlock), 2 (namespaces and
    Landlock) or 3 (bubblewrap). At level 2 and above, Remora runs the project's code without asking
    for permission. docs/explanation/security.md lists what each level blocks.

    Exit with 1 if `remora analyze` would fail.
    """
    with working(options, "checking"):
        import msgspec

        from remora.runs.doctor import check_machine, check_ruff_settings
        from remora.sandbox.isolation import LEVEL_NAMES, best_level, missing_levels

        invocation = invocation_of(options)
        root = invocation.find_root()
        checks = [
            *check_machine(root, invocation.folders),
            check_ruff_settings(root),
            *_check_configuration(invocation),
            _check_agents(root, invocation.operations),
        ]
        level, better = best_level(), list(missing_levels())
    ok = all(check.ok for check in checks if check.needed)
    document = {
        "ok": ok,
        "isolation": {
            "level": level,
            "name": LEVEL_NAMES[level],
            "lacking": [msgspec.to_builtins(missing) for missing in better],
        },
        "checks": [msgspec.to_builtins(check) for check in checks],
    }
    emit(options, document, [*_check_lines(checks), *_isolation_lines(level, better)])
    return 0 if ok else 1


def _check_configuration(invocation: "Invocation") -> "list[DoctorCheck]":
    """Check the configuration, and the interpreter and model that it selects."""
    from remora.bootstrap.invocation import open_config
    from remora.bootstrap.open_project import model_status, withheld_key
    from remora.bootstrap.open_trace import describe_database
    from remora.bootstrap.project_interpreter import interpreter_for
    from remora.runs.doctor import DoctorCheck, check_database, check_model, check_tests

    root = invocation.find_root()
    try:
        config = open_config(invocation, root)
    except ConfigError as error:
        return [DoctorCheck(name="config", ok=False, detail=error.message, hint=error.hint)]
    try:
        model = check_model(model_status(invocation, config))
    except ConfigError as error:
        model = [DoctorCheck(name="model", ok=False, detail=error.message, hint=error.hint)]

    def find_interpreter() -> None:
        python = interpreter_for(invocation, root, config)
        invocation.operations.check_interpreter(python)

    known = DoctorCheck(name="config", ok=True, detail="all keys are valid")
    checks = [known, check_tests(find_interpreter, config.python)]
    if config.runner.memory.trace_store == "postgres":
        checks.append(check_database(partial(describe_database, config)))
    checks += model
    if withheld := withheld_key(invocation, config):
        hint = "to send it, set the address in REMORA_MODEL__BASE_URL or in your own config.yaml"
        detail = f"not sent: {withheld}"
        checks.append(DoctorCheck(name="key", ok=False, detail=detail, needed=False, hint=hint))
    return checks


def _check_agents(root: Path, operations: "Operations") -> "DoctorCheck":
    from remora.runs.doctor import DoctorCheck
    from remora.runs.planning.agent_definitions import check_definitions

    checked = check_definitions(root, operations)
    wrong = next((definition for definition in checked if definition.error), None)
    if wrong is not None:
        return DoctorCheck(name="agents", ok=False, detail=wrong.error, hint=wrong.hint)
    return DoctorCheck(
        name="agents", ok=True, detail=", ".join(definition.name for definition in checked)
    )


def _check_lines(checks: "Sequence[DoctorCheck]") -> Iterator[str]:
    for check in checks:
        mark, color = ("ok", "green") if check.ok else ("--", "yellow")
        if not check.ok and check.needed:
            mark, color = "NO", "red"
        first, *more = indented(check.detail, _MARGIN)
        yield f"{click.style(mark, fg=color)}  {check.name:<10} {first.lstrip()}"
        yield from more
        yield from indented(check.hint, _MARGIN) if not check.ok and check.hint else ()


def _isolation_lines(level: int, better: "Sequence[MissingLevel]") -> Iterator[str]:
    from remora.runs.doctor import DoctorCheck
    from remora.sandbox.isolation import SAFE_LEVEL, describe_level

    ok, detail = level >= SAFE_LEVEL, f"subprocesses are {describe_level(level)}"
    yield from _check_lines([DoctorCheck(name="isolation", ok=ok, detail=detail, needed=False)])
    for missing in better:
        yield from indented(f"L{missing.level}, {missing.name}: {missing.problem}", _MARGIN)
        yield from indented(missing.hint, _MARGIN)
