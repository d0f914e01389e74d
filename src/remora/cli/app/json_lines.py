"""Prints the events of a run to stdout, one JSON object per line."""

import json
import os
import signal
import sys

import msgspec

from remora.cli.app.entry import output_lost


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
            text = json.dumps(msgspec.to_builtins(line))  # ASCII, for any terminal
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except OSError as error:
            self.is_closed = True
            output_lost(error)
            os.kill(os.getpid(), signal.SIGINT)
