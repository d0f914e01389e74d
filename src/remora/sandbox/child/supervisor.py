"""The small parent of one subprocess: it ends the whole process tree when told, or left alone.

Started by `remora.sandbox.supervisor_client` with the words of an Order; the command inherits
environment and streams. `lifeline` is a descriptor that ends when the caller does. `report` gets
one line: `done CODE`, `timeout CODE` or `failed ERRNO WHAT`.

As subreaper it stays the ancestor of every descendant, daemons and new sessions included.
"""

import os
import select
import time

from remora.sandbox.child import syscalls
from remora.sandbox.child.command_record import BUBBLEWRAP, NAMESPACES, CommandRecord
from remora.sandbox.child.process_tree import end_descendants, reap
from remora.sandbox.child.signal_numbers import signals
from remora.sandbox.child.start import StartedChild, start_command

_BY_SIGNAL = range(129, 129 + 64)


def main(words: list[str]) -> None:
    """Run the command, report, and leave no descendant behind."""
    order = CommandRecord(words)
    for descriptor in (order.lifeline, order.report):
        os.set_inheritable(descriptor, False)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_up()
    started = start_command(order)
    if started.problem:
        os.write(order.report, f"failed {started.problem}\n".encode())
        return
    code, how = _watch(started.pid, order.lifeline, wake, time.monotonic() + order.seconds)
    ended = end_descendants(started.pid)
    code = ended.get(started.pid, -signals.SIGKILL) if code is None else _told(order, started, code)
    if how != "orphaned":
        os.write(order.report, f"{how} {code}\n".encode())
    elif order.temporary_folder:
        _remove(order.temporary_folder)


def _wake_up() -> int:
    """A descriptor that can be read from whenever a child has ended."""
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signals.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signals.signal(signals.SIGCHLD, lambda *_: None)
    return wake


def _watch(child: int, lifeline: int, wake: int, deadline: float) -> tuple[int | None, str]:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None, "timeout"
        ready, _, _ = select.select([lifeline, wake], [], [], left)
        if lifeline in ready:
            return None, "orphaned"
        if wake in ready:
            os.read(wake, 4096)
        code = reap().get(child)
        if code is not None:
            return code, "done"


def _told(order: CommandRecord, started: StartedChild, code: int) -> int:
    """The command's own code, where our child is not the command."""
    if order.level == NAMESPACES:
        return int(os.read(started.exit_code_reader, 16) or code)
    if order.level == BUBBLEWRAP and code in _BY_SIGNAL:
        return 128 - code
    return code


def _remove(folder: str) -> None:
    """However deep: here nobody waits for what has to be imported."""
    from pathlib import Path

    from remora.sandbox.child.rmtree import try_remove_tree

    try_remove_tree(Path(folder))
