"""Engine that runs shards on a Ray cluster."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.bootstrap.engines.ray_connection import Ended, Failed, RayOrder
from remora.config.user_folders import UserFolders, make_private
from remora.errors import OutsideError
from remora.runs.execution.engine import Shard, ShardEnd
from remora.runs.execution.shard_task import ShardTask

_CANCEL_S = 40.0


class RayEngine:
    """Runs shards on the cluster that RAY_ADDRESS names, or on one that is started for the run.

    Ray holds only short tasks. It runs a shard again if its worker or node is lost.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        concurrency: int,
        model: str,
        make_task: Callable[[Shard], ShardTask],
    ) -> None:
        self._environ = environ
        self._concurrency = concurrency
        self._model = model
        self._make_task = make_task
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, shards: Sequence[Shard]) -> AsyncIterator[ShardEnd]:
        order = RayOrder(
            tasks=tuple(map(self._make_task, shards)),
            concurrency=self._concurrency,
            model=self._model,
        )
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "remora.bootstrap.engines.ray_connection"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",  # Ray adds it to the import path of its workers
            env=_environment(self._environ),
            start_new_session=True,  # Ctrl-C is for this process, which then cancels the shards
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            async for line in process.stdout:
                report = msgspec.json.decode(line, type=Ended | Failed)
                if isinstance(report, Failed):
                    raise OutsideError(report.message, hint=report.hint)
                yield ShardEnd(number=report.number, error=report.error)
            if await process.wait():
                raise OutsideError(
                    "the connection to the Ray cluster was lost",
                    hint="check the cluster with `ray status`, then resume the run",
                )
        finally:
            await self.cancel()

    async def cancel(self) -> None:
        """Cancel the shards that have not ended, and wait until their jobs are interrupted."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _CANCEL_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for Ray. A cluster that is started for a run requires a token."""
    found = {**environ, "RAY_USAGE_STATS_ENABLED": "0"}
    if not environ.get("RAY_ADDRESS"):
        found["RAY_AUTH_MODE"] = "token"
        found["RAY_AUTH_TOKEN_PATH"] = str(_token_file(UserFolders.from_environ(environ).state))
        found.pop("RAY_AUTH_TOKEN", None)  # it would be preferred
    return found


def _token_file(state: Path) -> Path:
    """Return a file with the token of clusters on this machine, which only this user can read."""
    path = state / "ray_token"
    make_private(state)
    with suppress(FileExistsError):
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w") as file:
            file.write(secrets.token_hex(32))
    return path
