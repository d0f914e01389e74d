"""Selection of each job's current attempt, which `show` displays and `accept` uses."""

from remora.memory.events import Gates, JobEnd, JobStart, Payload, Review, RunEnd, TakenOut
from remora.statuses import (
    CONFLICT,
    INTERRUPTED,
    PENDING,
    REOPENED,
    RETRIED,
    SUBMITTED,
    TAKEN_OUT,
    WITHDRAWN,
)


class CurrentAttempts:
    """Finds the current attempt of each job in a run's events.

    The current attempt is the newest attempt that has ended. Therefore, a fork does not replace its
    parent until the fork has ended. If no attempt has ended, or if the verdict on the newest ended
    attempt is `retried`, the newest attempt is current. `ends` and `verdicts` map each agent to its
    last end and verdict. A verdict that was withdrawn is not in `verdicts`. `refused` maps
    the identities of rejected hunks to the verdict on them.
    """

    def __init__(self) -> None:
        self.ended = False
        """True after `run_end`."""
        self.ends: dict[str, JobEnd] = {}
        self.is_over: dict[str, bool] = {}
        """True for each agent that has ended since it was last started or resumed."""
        self.last = ""
        """Timestamp of the last event, if the reader sets it before each."""
        self.verdicts: dict[str, Review] = {}
        self.times: dict[str, str] = {}
        """The time of each agent's last verdict."""
        self.refused: dict[str, Review] = {}
        self.gates: Gates | None = None
        """The last judgement of the project's gates."""
        self.proofs: dict[str, str] = {}
        self.taken_out: dict[str, TakenOut] = {}
        """The proof of each agent's change set, and what was taken out of it."""
        self._starts: dict[tuple[str, str], dict[int, JobStart]] = {}

    def add(self, data: Payload | None) -> None:
        if isinstance(data, JobStart):
            self._starts.setdefault((data.operation, data.node_id), {})[data.attempt] = data
            self.is_over[data.agent_id] = False
        elif isinstance(data, JobEnd):
            self.ends[data.agent_id] = data
            self.is_over[data.agent_id] = True
        elif isinstance(data, Review):
            self._add_verdict(data)
        elif isinstance(data, Gates):
            self.gates = data
            self.proofs |= dict.fromkeys(data.judged, data.proof)
            self.taken_out |= {taken.agent_id: taken for taken in data.taken_out}
        elif isinstance(data, RunEnd):
            self.ended = True

    def _add_verdict(self, review: Review) -> None:
        self.times[review.agent_id] = self.last
        if review.verdict in (REOPENED, WITHDRAWN):
            self.refused = {
                hunk: verdict
                for hunk, verdict in self.refused.items()
                if verdict.agent_id != review.agent_id
            }
        if review.verdict == REOPENED:
            self.verdicts.pop(review.agent_id, None)
        else:
            self.verdicts[review.agent_id] = review
            self.refused |= dict.fromkeys(review.refused, review)

    def starts(self) -> list[JobStart]:
        """Return the start event of each job's current attempt.

        The events are in the order in which the jobs began.
        """
        return [self._current_of(attempts) for attempts in self._starts.values()]

    def review(self, agent_id: str) -> str:
        """Return the last verdict on an agent's change set.

        If a part is pending, returns `conflict` if it collides with the files, and `pending`
        otherwise. A change set of which gates left nothing is taken out. Without a verdict, returns
        `pending` for a verified change set, and an empty string for others.
        """
        verdict, end = self.verdicts.get(agent_id), self.ends.get(agent_id)
        if verdict is not None:
            part = CONFLICT if verdict.detail else PENDING
            return part if verdict.left and self.left(agent_id) else verdict.verdict
        if agent_id in self.taken_out and not self.taken_out[agent_id].kept:
            return TAKEN_OUT
        return PENDING if end is not None and end.status == SUBMITTED else ""

    def left(self, agent_id: str) -> tuple[int, ...]:
        """Return the numbers of the pending hunks if verdicts or gates left only some of them."""
        verdict, taken = self.verdicts.get(agent_id), self.taken_out.get(agent_id)
        left = verdict.left if verdict else ()
        if taken is None or (verdict and verdict.written and not left):
            return left
        return tuple(n for n in left if n in taken.kept) if left else taken.kept

    def _current_of(self, attempts: dict[int, JobStart]) -> JobStart:
        newest_first = [attempts[number] for number in sorted(attempts, reverse=True)]
        for start in newest_first:
            end, verdict = self.ends.get(start.agent_id), self.verdicts.get(start.agent_id)
            if end is not None and end.status != INTERRUPTED:
                is_retried = verdict is not None and verdict.verdict == RETRIED
                return newest_first[0] if is_retried else start
        return newest_first[0]
