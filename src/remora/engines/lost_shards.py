"""Detection of shards whose workers are silent, from the claims of their agents' streams."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

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
