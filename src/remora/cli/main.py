"""The entry point. It prints the front page and the version without importing any command."""

import gc
import os
import sys

from remora.cli.app.command_list import front_page
from remora.version import __version__


def main() -> None:
    """Run the command in `sys.argv` and exit with its code."""
    args = sys.argv[1:]
    if args in (["--help"], ["-h"]) and sys.stdout is not None:
        _print_text(front_page())
        return
    if args in (["--version"], ["-V"]) and sys.stdout is not None:
        _print_text(f"remora {__version__}\n")
        return
    gc.set_threshold(150_000)  # importing creates many objects and almost no garbage
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # a search takes 20 ms
    from remora.cli.app.entry import start

    code = start(args)
    gc.freeze()  # Python collects twice at exit, which takes 0.2 s after a run
    sys.exit(code)


def _print_text(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from remora.cli.app.entry import output_lost

        sys.exit(output_lost(error))
