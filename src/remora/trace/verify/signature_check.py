"""Whether the anchors of a signed run were made by a holder of the key."""

from typing import NamedTuple

from remora.memory.events import Head, JobEnd, Payload, Review, RunEnd, RunStart
from remora.trace.verify.head_signatures import Signer
from remora.trace.verify.verify_report import Problems, Signatures


class SignatureCheck:
    """Follows one run's stream. A run is signed as a whole: its start names the key, and then
    every anchor in it has a signature. Without the key only their presence is checked."""

    def __init__(
        self, run_id: str, signer: Signer | None, counted: Signatures, found: Problems
    ) -> None:
        self._run_id = run_id
        self._signer = signer
        self._counted = counted
        self._found = found
        self._signing: dict[str, str] | None = None

    def see(self, line: int, payload: Payload | None, before: Head) -> None:
        """Take one event of the run; `before` is the run's head without it."""
        if isinstance(payload, RunStart):
            self._start(payload)
        elif isinstance(payload, RunEnd):
            self._check(line, _Said("run", self._run_id, before, payload.signature))
        elif isinstance(payload, JobEnd | Review) and (
            payload.head.count or payload.signature is not None
        ):
            said = _Said("agent", payload.agent_id, payload.head, payload.signature)
            self._check(line, said)

    def _start(self, start: RunStart) -> None:
        self._signing = start.signing
        if start.signing is None:
            self._counted.unsigned_runs += 1
        elif self._signer is None or start.signing != self._signer.signing:
            self._counted.foreign_runs += 1

    def _check(self, line: int, said: "_Said") -> None:
        problem = self._problem(said)
        if problem is not None:
            self._found.add(line, "anchor", problem)

    def _problem(self, said: "_Said") -> str | None:
        if self._signing is None:
            return None if said.signature is None else "a signature in a run that is not signed"
        if said.signature is None:
            return "the run is signed, this anchor is not"
        if self._signer is None or self._signing != self._signer.signing:
            return None
        if not self._signer.is_right(said.kind, said.name, said.head, said.signature):
            return "the signature is not right: no holder of the key anchored this"
        self._counted.checked += 1
        return None


class _Said(NamedTuple):
    kind: str
    name: str
    head: Head
    signature: str | None
