"""Descriptions of the configuration for a set of operations: defaults and JSON Schema."""

from collections.abc import Mapping
from typing import Any

from remora.config.schema import Config, OperationConfig
from remora.json_schema import DIALECT

OperationModels = Mapping[str, type[OperationConfig]]
"""Settings model of each operation, by name."""


def default_config(operations: OperationModels) -> Config:
    """Return the default configuration, with an entry for each operation."""
    return Config(operations={name: model() for name, model in operations.items()})


def describe_operations(operations: OperationModels) -> str:
    """Return the description of the `operations` key, including operation-specific keys."""
    known = [str(Config.model_fields["operations"].description)]
    for name, model in operations.items():
        own = [key for key in model.model_fields if key not in OperationConfig.model_fields]
        known += [f"{name} also has {key}: {model.model_fields[key].description}" for key in own]
    return " ".join(known)


def config_schema(operations: OperationModels) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a configuration file."""
    schema = Config.model_json_schema()
    section = schema["properties"]["operations"]
    ((pattern, base),) = section.pop("patternProperties").items()
    section |= {
        "description": describe_operations(operations),
        "default": {name: {} for name in operations},
        "propertyNames": {"pattern": pattern},
        "properties": {},
        "additionalProperties": base,
    }
    for name, model in operations.items():
        section["properties"][name] = {"$ref": f"#/$defs/{model.__name__}"}
        schema["$defs"][model.__name__] = model.model_json_schema()
    return {**DIALECT, **schema}
