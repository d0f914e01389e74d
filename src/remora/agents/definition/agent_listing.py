"""Lists agents. Built-in definitions are not validated here, because the tests validate them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from remora.agents.builtin_tools import BUILTIN_SCHEMAS
from remora.errors import ConfigError
from remora.operations.base import Operations

_OWN = Path(".remora") / "agents"
_KEYS = ("name", "operation", "description", "node_types", "needs", "tools", "verify")


def list_agents(
    root: Path, operations: Operations
) -> tuple[list[dict[str, Any]], list[ConfigError]]:
    """Return a document for each valid agent, and the errors of the invalid agents.

    Built-in agents come first.
    """
    if (root / _OWN).is_dir():
        from remora.agents.definition.agent import read_definitions

        found, wrong = read_definitions(root, operations)
        listed = [
            agent_document(
                folder, definition.model_dump(), builtin=builtin, replaced=operations.replaced
            )
            for folder, builtin, definition in found
        ]
        return listed, wrong
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [
        agent_document(path.parent, yaml.load(path.read_bytes(), loader), builtin=True)  # noqa: S506 (a safe one)
        for path in (folder / "agent.yaml" for folder in sorted(operations.folders))
    ], []


def agent_document(
    folder: Path, definition: dict[str, Any], *, builtin: bool, replaced: Collection[str] = ()
) -> dict[str, Any]:
    """Return the document of an agent. `replaced` has the operations of replaced built-in agents."""
    document = {key: definition[key] for key in _KEYS}
    document["tools"] = [tool["name"] for tool in definition["tools"]]
    document["tools"] += [schema.name for schema in BUILTIN_SCHEMAS]
    return {
        "name": document.pop("name"),
        "operation": document.pop("operation"),
        "builtin": builtin,
        "replaces": not builtin and definition["operation"] in replaced,
        **document,
        "path": str(folder / "agent.yaml"),
    }
