"""`init`: the commented `remora.yaml`."""

from pathlib import Path

from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.errors import DiskError, UsageError
from remora.text import plain

_SCHEMA = ".remora/config.schema.json"


@command("init", examples=("remora init", "remora init --root path/to/project"))
def init(options: Options) -> int:
    """Write a commented remora.yaml: every key, its meaning and its default.

    It changes nothing until you edit it. Beside it, .remora/config.schema.json lets an editor with
    a YAML language server complete and check keys, offline. Settings may be in [tool.remora] of
    pyproject.toml instead.
    """
    from remora.config.template import commented_yaml

    path = caller_of(options).find_root() / "remora.yaml"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"# yaml-language-server: $schema={_SCHEMA}\n{commented_yaml()}")
        _write_schema(path.parent / _SCHEMA)
    except FileExistsError:
        raise UsageError(
            f"{path} is already there", hint="`remora schema config` lists every key"
        ) from None
    except OSError as error:
        raise DiskError(
            f"cannot write {path}: {error.strerror}",
            hint="make the folder writable, or name another with --root",
        ) from error
    emit(options, {"path": str(path)}, [plain(f"wrote {path}")])
    return 0


def _write_schema(path: Path) -> None:
    """Write the schema for editors, over an older one. Raises OSError."""
    import json

    from remora.config.schema import config_schema

    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(config_schema(), indent=1) + "\n", encoding="utf-8")
