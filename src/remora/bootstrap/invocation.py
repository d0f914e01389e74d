"""The invocation of a command: environment, current directory, flags and configuration."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os.path import lexists, realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.bootstrap.operations import BUILT_IN
from remora.config.pyproject import has_settings, read_settings
from remora.config.user_folders import KEY_VARIABLES, UserFolders
from remora.errors import ConfigError, UsageError
from remora.facilities import POSIX_VARIABLE
from remora.files.project_root import find_root
from remora.operations.base import Operations

if TYPE_CHECKING:
    from remora.config.schema import Config
    from remora.config.yaml_positions import KeyPath

_NOT_SETTINGS = {
    *("REMORA_ROOT", "REMORA_CONFIG", POSIX_VARIABLE),
    *(name for names in KEY_VARIABLES.values() for name in names),
}


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """The environment and the current directory of the process, and the global flags."""

    environ: Mapping[str, str]
    folder: Path
    root: Path | None = None
    config_file: Path | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    operations: Operations = BUILT_IN
    takes_model: bool = True
    """False to ignore the project's settings that choose or enable a model."""

    @cached_property
    def folders(self) -> UserFolders:
        return UserFolders.from_environ(self.environ)

    def agreed_file(self, root: Path) -> Path:
        """Return the path of the file with the user's consent to addresses, which may not exist."""
        from remora.models.agreed_addresses import FILE

        return self.state_of(root) / FILE

    def state_of(self, root: Path) -> Path:
        """Return the folder for a root in the user's state folder, which may not exist."""
        from remora.runs.project import root_name

        return self.folders.state / "roots" / root_name(root)

    def find_root(self, paths: Sequence[Path] = ()) -> Path:
        """Return the folder given with `--root`, or the project root.

        The search for the root starts at the first of `paths`, or else at the current directory.
        """
        if self.root is not None:
            if not self.root.is_dir():
                raise UsageError(
                    f"{self.root} is not a folder", hint="use --root with an existing folder"
                )
            return self.root.resolve()
        start = self.folder / paths[0] if paths else self.folder
        if not start.exists():
            raise UsageError(
                f"{paths[0] if paths else start} does not exist",
                hint=path_hint(paths[0], self.folder)
                if paths
                else "use --root with an existing folder",
            )
        return find_root(start, within=self.folder)

    def check_config_file(self) -> None:
        """Raise UsageError if the file given with `--config` does not exist."""
        if self.config_file is not None and not self.config_file.is_file():
            raise UsageError(
                f"{self.config_file} does not exist", hint="use --config with an existing YAML file"
            )


def run_flags(  # noqa: PLR0913 (one parameter for each option)
    model: str | None,
    allow_unsandboxed: bool,
    select: Sequence[str] = (),
    allow_addresses: Sequence[str] = (),
    decisions: str | None = None,
    opening: bool = True,
    gates: str | None = None,
) -> dict[str, Any]:
    """Return the settings that the arguments override.

    A value of None does not change the configured value. If a model is named, it makes the decisions.
    `gates` is `all`, `static` or `none`.
    """
    from remora.statuses import NO_MODEL

    return {
        "runner.decisions": decisions or (None if model in (None, NO_MODEL) else "model"),
        "runner.opening": None if opening else False,
        "gates.time_s": 0 if gates == "none" else None,
        "gates.static": True if gates == "static" else None,
        "workspace.allow_unsandboxed": True if allow_unsandboxed else None,
        "operations.lint.select": _selectors(select) or None,
        "model.allow_addresses": allow_addresses or None,
        **model_flags(model),
    }


def model_flags(model: str | None) -> dict[str, Any]:
    """Return the settings that `--model` overrides.

    A value that contains `://` is the address of a server, and any other value is a model name.
    """
    if model is not None and "://" in model:
        return {"model.base_url": model, "model.provider": "openai"}
    return {"model.name": model}


def _selectors(select: Sequence[str]) -> list[str]:
    from remora.tools.host.ruff.rule_choice import selectors_in

    try:
        return selectors_in(select)
    except ValueError as error:
        raise UsageError(f"select: {error}", hint="`ruff rule --all` lists them") from None


def path_hint(absent: Path, folder: Path) -> str:
    """Return a hint for a path that does not exist, possibly a node given without `--node`."""
    file, _, node = str(absent).rpartition(":")
    if file and (folder / file).is_file():
        words = shlex.join([file, "--node", node])
        return f"to select a node, use `remora analyze {words}`"
    return "use an existing file or folder in the project"


def is_configured(invocation: Invocation, root: Path) -> bool:
    """Return True if there is a file, environment variable or flag that could change a setting.

    If the result is False, callers use the defaults, because reading a configuration takes longer
    than most queries.
    """
    return (
        invocation.config_file is not None
        or any(value is not None for value in invocation.flags.values())
        or any(
            name.startswith("REMORA_") and name not in _NOT_SETTINGS for name in invocation.environ
        )
        or lexists(invocation.folders.config_file)
        or lexists(root / "remora.yaml")
        or has_settings(root)
    )


def open_config(invocation: Invocation, root: Path) -> "Config":
    """Return the configuration for `root`. Raises ConfigError if it is invalid."""
    return open_with_places(invocation, root)[0]


def open_with_places(invocation: Invocation, root: Path) -> "tuple[Config, dict[KeyPath, str]]":
    """Return the configuration for `root`, and the origin of each setting that is not a default."""
    if not is_configured(invocation, root):
        from remora.config.schema import default_config

        return default_config(invocation.operations.settings), {}
    from remora.config.loading import load_config
    from remora.models.agreed_addresses import with_agreed

    invocation.check_config_file()
    user = invocation.folders.config_file
    project = invocation.config_file or root / "remora.yaml"
    if invocation.config_file is None and not Path(realpath(project)).is_relative_to(root):
        # errors quote the file, and a clone must not make them quote a file from elsewhere
        raise ConfigError(
            f"{project} is a link to a file outside the project",
            hint="replace the link with the file",
        )
    config, places = load_config(
        user_file=user if lexists(user) else None,
        project_file=project if lexists(project) else None,
        environ=invocation.environ,
        flags=invocation.flags,
        operations=invocation.operations.settings,
        project_table=None if invocation.config_file is not None else read_settings(root),
        takes_model=invocation.takes_model,
    )
    return with_agreed(config, places, invocation.agreed_file(root), root)
