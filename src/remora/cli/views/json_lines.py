"""Prints the events of a run to stdout, one JSON object per line."""

import os
import signal
import sys
from typing import Any

import msgspec

from remora.cli.app.entry import output_lost
from remora.runs.records.run_events import Failed


class LinePrinter:
    """Prints lines, each as soon as it is written.

    If the reader closes the pipe, the run is interrupted, and `is_closed` is true.
    """

    def __init__(self) -> None:
        self.is_closed = False

    def __call__(self, line: msgspec.Struct) -> None:
        if self.is_closed:
            return
        try:
            sys.stdout.write(as_line(msgspec.to_builtins(line)))
            sys.stdout.flush()
        except OSError as error:
            self.is_closed = True
            output_lost(error)
            os.kill(os.getpid(), signal.SIGINT)


def as_line(document: Any) -> str:
    """Return a document as a line in ASCII, which is safe for any terminal encoding."""
    import json

    return json.dumps(document) + "\n"


def print_failure(code: str, message: str, hint: str) -> None:
    """Print an error as the last line."""
    sys.stdout.write(as_line(msgspec.to_builtins(Failed(code=code, message=message, hint=hint))))
