"""Loads the scripts of an agent definition, and reports the faults of all scripts together."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from remora.agents.definition.agent_yaml import AgentDefinition, ScriptUse, script_uses
from remora.agents.definition.script_inputs import input_faults, untyped_inputs
from remora.config.yaml_positions import place_of, read_yaml_file
from remora.errors import ConfigError, ScriptError
from remora.pym import Script

Examine = Callable[[Path], tuple[Script | None, list[ScriptError]]]
"""Reads a script and returns it with its problems. It is None if there are any."""
_HINT = "correct the script; `remora agents validate` checks all scripts"


def load_scripts(folder: Path, definition: AgentDefinition, examine: Examine) -> dict[str, Script]:
    """Return the definition's scripts, keyed by their path in the definition.

    Raises ConfigError if a script has a fault. The message has one line for each fault, for example
    `agent.yaml:LINE:COLUMN: FILE.pym:LINE: ...`.
    """
    scripts: dict[str, Script] = {}
    faults: list[tuple[ScriptUse, str]] = []
    hints: list[str] = []
    for use in script_uses(definition):
        if use.script not in scripts:
            script, errors = examine(folder / use.script)
            faults += [(use, error.message) for error in errors]
            hints += [error.hint for error in errors if error.hint]
            if script is None:
                continue
            scripts[use.script] = script
        faults += [
            (use, fault)
            for fault in input_faults(scripts[use.script], use.role, definition.node_types)
        ]
    if faults:
        marked = read_yaml_file(folder / "agent.yaml")
        lines = [f"{place_of(marked, use.where)[1]}: {fault}" for use, fault in faults]
        raise ConfigError("\n".join(dict.fromkeys(lines)), hint=(hints or [_HINT])[0])
    return scripts


def script_warnings(
    folder: Path, definition: AgentDefinition, scripts: Mapping[str, Script]
) -> Iterator[str]:
    """Yield a warning for each undeclared grant, ungranted external and untyped input."""
    marked = read_yaml_file(folder / "agent.yaml")
    for use in script_uses(definition):
        script, place = scripts[use.script], place_of(marked, use.where)[1]
        declared = {spec.name: spec for spec in script.externals}
        for name in declared.keys() - set(use.grants):
            where = f"{script.label}:{declared[name].line}"
            yield f"{place}: {where}: `{name}` is declared but not granted; calls to it are denied"
        for index, name in enumerate(use.grants):
            if name not in declared:
                at = place_of(marked, (*use.where[:-1], "grants", index))[1]
                yield f"{at}: `{name}` is granted, but {script.label} declares no such external"
        if use.role == "tool":
            yield from (f"{place}: {fault}" for fault in untyped_inputs(script))
