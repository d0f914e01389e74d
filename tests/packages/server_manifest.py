"""The `server.json` of the repository, and the command that clients of the registry make of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
(PACKAGE,) = MANIFEST["packages"]


def words(arguments: list[dict[str, str]]) -> Iterator[str]:
    for argument in arguments:
        if argument["type"] == "named":
            yield argument["name"]
        yield argument["value"]


def client_command() -> list[str]:
    """Return the command line of a client: the runtime and its arguments, then the package."""
    package = f"{PACKAGE['identifier']}=={PACKAGE['version']}"
    runtime = [PACKAGE["runtimeHint"], *words(PACKAGE["runtimeArguments"])]
    return [*runtime, package, *words(PACKAGE["packageArguments"])]
