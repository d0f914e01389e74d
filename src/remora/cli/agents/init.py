"""The `init` command, which writes a commented `remora.yaml`."""

from pathlib import Path
from typing import TYPE_CHECKING

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import invocation_of
from remora.errors import DiskError, UsageError
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.config.template import OperationModels

_SCHEMA = ".remora/config.schema.json"


@command("init", examples=("remora init", "remora init --root path/to/project"))
def init(options: Options) -> int:
    """Write a commented remora.yaml with every key, its meaning and its default.

    The file has no effect until you edit it. A second file, .remora/config.schema.json, lets
    editors with a YAML language server complete and check keys offline. You can also keep your
    settings in [tool.remora] in pyproject.toml.
    """
    from remora.config.template import commented_yaml

    invocation = invocation_of(options)
    path = invocation.find_root() / "remora.yaml"
    operations = invocation.operations.settings
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"# yaml-language-server: $schema={_SCHEMA}\n{commented_yaml(operations)}")
        _write_schema(path.parent / _SCHEMA, operations)
    except FileExistsError:
        raise UsageError(
            f"{path} already exists", hint="edit this file; `remora schema config` lists every key"
        ) from None
    except OSError as error:
        raise DiskError(
            f"cannot write {path}: {error.strerror}",
            hint="make the folder writable, or choose another folder with --root",
        ) from error
    emit(options, {"path": str(path)}, [escape_line(f"wrote {path}")])
    return 0


def _write_schema(path: Path, operations: "OperationModels") -> None:
    """Write the schema for editors, replacing an older schema. Raises OSError if this fails."""
    import json

    from remora.config.template import config_schema

    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(config_schema(operations), indent=1) + "\n", encoding="utf-8")
