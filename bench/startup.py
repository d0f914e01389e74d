"""CPU of whole `remora` processes, as ratios to a bare Python that does nothing.

A project with one run and a daemon is made first; the reading commands are measured in it without
and with a configuration file. CPU time, user and system: a busy machine delays a process and hardly
makes it work more.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from remora.cli.app.lazy_group import TopGroup

RUNS = 5
_REMORA = str(Path(sys.executable).with_name("remora"))
_FRONT = {"help": ("--help",), "version": ("--version",)}
_READ = {
    "runs": ("runs",),
    "show": ("show", "last"),
    "diff": ("diff", "last"),
    "agents_list": ("agents", "list"),
    "trace_list": ("trace", "list"),
    "trace_show": ("trace", "show", "last"),
    "hub_get": ("hub", "get", "app.py:first"),
    "hub_callers": ("hub", "callers", "app.py:first"),
    "hub_status": ("hub", "status"),
}
_WITH = "(with remora.yaml)"
_CONFIG = "runner: {max_turns: 9}\n"
_COMPLETIONS = {"completion": "remora show ", "node_completion": "remora hub get app"}
"""By name: the line before the cursor."""
_CODE = '"""A module."""\nimport os\n\n\ndef first():\n    """One."""\n    return 1\n'


def main() -> dict[str, float]:
    """Return the ratio of the smallest CPU times, by command."""
    with tempfile.TemporaryDirectory(prefix="remora-startup-") as folder:
        root = Path(folder)
        (root / "app.py").write_text(_CODE)
        _remora(root, "analyze", "-o", "lint")
        _remora(root, "hub", "start")
        try:
            found = _measured(root)
        finally:
            _remora(root, "hub", "stop")
    for words, ratio in found.items():
        aim = 4 if words in _FRONT.values() else 6 if "--help" in words else 12
        text = " ".join(words)
        print(f"remora {text:<40} / python -c pass  {ratio:6.2f} x   (aim <= {aim})")
    named = {name: found[words] for name, words in (_FRONT | _READ).items()}
    named |= {f"{name}_configured": found[*words, _WITH] for name, words in _READ.items()}
    named |= {name: found[name,] for name in _COMPLETIONS}
    named["analyze_help"] = found["analyze", "--help"]
    named["dearest_help"] = max(r for words, r in found.items() if words[-1] == "--help")
    return {f"{name}_over_bare_python": ratio for name, ratio in named.items()}


def _measured(root: Path) -> dict[tuple[str, ...], float]:
    taken: dict[tuple[str, ...], list[float]] = {}

    def measure(words: tuple[str, ...], command: list[str], **environ: str) -> None:
        taken.setdefault(words, []).append(_cpu(root, command, os.environ | environ))

    config = root / "remora.yaml"
    for _ in range(RUNS):  # in turn, so that a busy moment hits all of them
        measure((), [sys.executable, "-c", "pass"])
        for args in (*_FRONT.values(), *_READ.values(), *_helps()):
            measure(args, [_REMORA, *args])
        for name, line in _COMPLETIONS.items():
            asked = {"_REMORA_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_REPLACED": ""}
            measure((name,), [_REMORA], **asked)
        config.write_text(_CONFIG)
        for args in _READ.values():
            measure((*args, _WITH), [_REMORA, *args])
        config.unlink()
    bare = min(taken.pop(()))
    return {words: min(seconds) / bare for words, seconds in taken.items()}


def _helps() -> Iterator[tuple[str, ...]]:
    """Yield the `--help` of every command."""

    def below(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if words:
            yield (*words, "--help")
        context = click.Context(command)
        if not isinstance(command, click.Group):
            return
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from below(inner, (*words, name))

    return below(TopGroup(), ())


def _cpu(root: Path, command: list[str], environ: dict[str, str]) -> float:
    """Return the seconds of CPU that a command took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=root, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _remora(root: Path, *args: str) -> None:
    subprocess.run([_REMORA, *args], cwd=root, check=True, capture_output=True)


if __name__ == "__main__":
    main()
