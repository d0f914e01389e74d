"""Settings in the concept papers that are not settings: recording and its index are always on."""

from typing import Any

from remora.config.schema import Config
from remora.config.yaml_positions import ParsedYaml
from remora.errors import ConfigError

_MEMORY = ("runner", "memory")
_INDEXES = ("node", "run", "operation")
_ALWAYS = "recording and its index are always on"
_EXPECTED: dict[str, tuple[str, Any]] = {
    "enabled": ("true or false", lambda value: isinstance(value, bool)),
    "trace_indexing": (
        "a list of node, run and operation",
        lambda value: isinstance(value, list) and all(name in _INDEXES for name in value),
    ),
}


def without_concept_settings(layer: ParsedYaml) -> ParsedYaml:
    """Return the layer without these settings, whose places stay.

    `enabled` sets `mode` to packets or raw, unless the layer sets it. Raises ConfigError for a value
    that the papers do not have.
    """
    runner = layer.value.get("runner") if isinstance(layer.value, dict) else None
    memory = runner.get("memory") if isinstance(runner, dict) else None
    if not isinstance(memory, dict):
        return layer
    given = {key: memory[key] for key in _EXPECTED if key in memory}
    for key, value in given.items():
        expected, is_valid = _EXPECTED[key]
        if not is_valid(value):
            place = layer.places[*_MEMORY, key]
            raise ConfigError(
                f"{place}: runner.memory.{key}: expected {expected}", hint=f"remove it: {_ALWAYS}"
            )
    kept, places = {key: memory[key] for key in memory.keys() - given.keys()}, {**layer.places}
    if "enabled" in given and "mode" not in kept:
        kept["mode"] = "packets" if given["enabled"] else "raw"
        places[*_MEMORY, "mode"] = places[*_MEMORY, "enabled"]
    value = {**layer.value, "runner": {**layer.value["runner"], "memory": kept}}
    return layer._replace(value=value, places=places)


def concept_hints(config: Config) -> list[str]:
    """Return a line about the settings of this kind in a configuration, if it has any."""
    given = [f"runner.memory.{key}" for key in _EXPECTED if config.layer_of(*_MEMORY, key)]
    instead = f"runner.memory.mode: {config.runner.memory.mode}"
    return [f"{' and '.join(given)}: {_ALWAYS}; write {instead} instead"] if given else []
