"""Engine that runs shards on a Ray cluster."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from remora.engines.ray_messages import Ended, Failed, RayOrder
from remora.errors import DatabaseError, OutsideError
from remora.runs.execution.engine import Shard, ShardEnd
from remora.threads import run_in_thread
from remora.trace.postgres.store import AgentClaim

FIRST_PAUSE = 12
"""Number of looks after which a lost shard is lost again."""
_Claims = dict[int, set[AgentClaim]]


class _Again(NamedTuple):
    """The look at which a shard is lost again, and the number of looks since it was lost."""

    at: int
    pause: int


class LostShards:
    """Finds the shards whose workers are silent.

    The claims of a worker that died stay silent until the next worker takes over its jobs, which it
    does last. So a silent claim says something about the current worker only if it is one of those
    that were alive when any claim of the shard was last seen alive.

    The cluster may hand a lost shard to the lost machine again. So a shard is lost again if none of
    its claims is seen alive for a while, which doubles each time, as preparing a shard takes long.
    """

    def __init__(self, shards: Mapping[str, int], earlier: Iterable[AgentClaim]) -> None:
        """Watch shards. `shards` contains the number of each agent's shard.

        The claims in `earlier` were made before the shards were handed out.
        """
        self._shards = shards
        self._earlier = {_alive(claim) for claim in earlier}
        self._last_alive: _Claims = {}
        self._looks = 0
        self._again: dict[int, _Again] = {}

    def look(self, claims: Iterable[AgentClaim]) -> list[int]:
        """Return the numbers of the shards that were lost since the last look."""
        alive, silent = self._by_shard(claims)
        self._looks += 1
        self._last_alive |= alive
        for number in alive:
            self._again.pop(number, None)
        lost = [
            number
            for number, found in silent.items()
            if number not in alive and found & self._last_alive.get(number, set())
        ]
        lost += [number for number, again in self._again.items() if again.at <= self._looks]
        for number in lost:
            self._last_alive.pop(number, None)
            pause = 2 * self._again[number].pause if number in self._again else FIRST_PAUSE
            self._again[number] = _Again(self._looks + pause, pause)
        return lost

    def _by_shard(self, claims: Iterable[AgentClaim]) -> tuple[_Claims, _Claims]:
        """Return the claims that are alive, and those that are silent, of each shard."""
        alive: _Claims = defaultdict(set)
        silent: _Claims = defaultdict(set)
        for claim in claims:
            number = self._shards.get(claim.agent_id)
            if number is not None and _alive(claim) not in self._earlier:
                (silent if claim.is_silent else alive)[number].add(_alive(claim))
        return alive, silent


def _alive(claim: AgentClaim) -> AgentClaim:
    return claim._replace(is_silent=False)


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
