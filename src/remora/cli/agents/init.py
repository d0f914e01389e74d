"""`init`: the commented `remora.yaml`."""

from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.errors import DiskError, UsageError
from remora.text import plain


@command("init", examples=("remora init", "remora init --root path/to/project"))
def init(options: Options) -> int:
    """Write a commented remora.yaml: every key with its meaning and its default.

    It goes to the project's root and changes nothing until you edit it. No command needs it.
    """
    from remora.config.template import commented_yaml

    path = caller_of(options).find_root() / "remora.yaml"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(commented_yaml())
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
