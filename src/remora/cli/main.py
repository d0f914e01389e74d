"""The `remora` command: its front page comes at once, everything else loads what it needs."""

import sys

from remora.cli.app.command_list import front_page


def main() -> None:
    """The entry point: runs the command of `sys.argv` and exits with its code."""
    args = sys.argv[1:]
    if args in (["--help"], ["-h"]) and sys.stdout is not None:
        _print_front_page()
        return
    from remora.cli.app.entry import start

    sys.exit(start(args))


def _print_front_page() -> None:
    try:
        sys.stdout.write(front_page())
        sys.stdout.flush()
    except OSError as error:
        from remora.cli.app.entry import output_lost

        sys.exit(output_lost(error))
