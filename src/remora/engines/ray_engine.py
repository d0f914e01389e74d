"""Engine that runs shards on a Ray cluster."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from remora.engines.lost_shards import LostShards
from remora.engines.ray_messages import Ended, Failed, RayOrder
from remora.errors import DatabaseError, OutsideError
from remora.runs.execution.engine import Shard, ShardEnd
from remora.threads import run_in_thread
from remora.trace.postgres.store import AgentClaim

_CANCEL_S = 40.0


class RayEngine:
    """Runs shards on the cluster that RAY_ADDRESS names, or on one that is started for the run.

    Ray holds only short tasks. It runs a shard again if its worker or node is lost. If Ray does not
    notice this, the silent owners of streams show it: `find_claims` returns the claims of the run's
    agents.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        order: Callable[[Sequence[Shard]], RayOrder],
        find_claims: Callable[[], Iterable[AgentClaim]],
        lease_s: int,
    ) -> None:
        self._environ = environ
        self._order = order
        self._find_claims = find_claims
        self._lease_s = lease_s
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, shards: Sequence[Shard]) -> AsyncIterator[ShardEnd]:
        order = await run_in_thread(self._order, shards)
        numbers = {agent: task.number for task in order.tasks for agent in task.agents}
        lost = LostShards(numbers, await run_in_thread(self._find_claims))
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "remora.worker.ray_connection"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",  # Ray adds it to the import path of its workers
            env={**self._environ, "RAY_USAGE_STATS_ENABLED": "0"},
            start_new_session=True,  # Ctrl-C is for this process, which then cancels the shards
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        watching = asyncio.create_task(self._watch(lost, process.stdin))
        try:
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
            watching.cancel()
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

    async def _watch(self, lost: LostShards, connection: asyncio.StreamWriter) -> None:
        """Report the shards whose workers are silent."""
        while True:
            await asyncio.sleep(self._lease_s / 6)
            with suppress(DatabaseError):  # it is away
                for number in lost.look(await run_in_thread(self._find_claims)):
                    connection.write(b"%d\n" % number)
