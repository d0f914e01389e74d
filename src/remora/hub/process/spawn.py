"""Command line and environment of child processes: our interpreter and package, nothing of the project."""

import sys
from collections.abc import Mapping
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[3]
_PASSED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE")
_PASSED_BEGINNINGS = ("LC_", "XDG_", "REMORA_")
_KEPT_BACK = ("REMORA_API_KEY", "REMORA_SIGNING_KEY")
FOLDER = "/"
"""Where such a process runs: no relative path of an environment leads into a tree from there."""


def command(function: str, *words: str) -> list[str]:
    """A command line that calls `MODULE:FUNCTION` of this very package with `words` in argv.

    -P: the folder that it is started in is not searched; our own comes last, so that nothing
    beside the package hides the standard library.
    """
    module, _, name = function.partition(":")
    run = (
        "import sys; sys.path.append(sys.argv.pop(1)); "
        f"from {module} import {name}; sys.exit({name}())"
    )
    return [sys.executable, "-P", "-c", run, str(_PACKAGES), *words]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Of `environ`, what such a process needs: no key, and nothing that changes what is imported."""
    return {
        name: value
        for name, value in environ.items()
        if (name in _PASSED or name.startswith(_PASSED_BEGINNINGS)) and name not in _KEPT_BACK
    }


def left_alone(words: list[str]) -> list[str]:
    """A command line that starts `words` as nobody's child: it ends at once, and the process that
    it leaves outlives whoever asked for it."""
    leave = "import os, sys; os.fork() and os._exit(0); os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", leave, *words]
