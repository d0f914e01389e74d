"""Check of the anchor signatures in a signed run."""

from typing import NamedTuple

from remora.memory.events import Head, JobEnd, Payload, Review, RunEnd, RunStart
from remora.trace.verify.head_hmac import Signer
from remora.trace.verify.verify_report import Problems, SignatureCounts


class SignatureCheck:
    """Checks the signatures in a run's stream.

    If the key is not available, only checks that each anchor has a signature.
    """

    def __init__(
        self, run_id: str, signer: Signer | None, counted: SignatureCounts, found: Problems
    ) -> None:
        self._run_id = run_id
        self._signer = signer
        self._counted = counted
        self._found = found
        self._signing: dict[str, str] | None = None

    def see(self, line: int, payload: Payload | None, before: Head) -> None:
        """Check one event of the run. `before` is the head of the run's stream before this
        event."""
        if isinstance(payload, RunStart):
            self._start(payload)
        elif isinstance(payload, RunEnd):
            self._check(line, _SignedHead("run", self._run_id, before, payload.signature))
        elif isinstance(payload, JobEnd | Review) and (
            payload.head.count or payload.signature is not None
        ):
            anchor = _SignedHead("agent", payload.agent_id, payload.head, payload.signature)
            self._check(line, anchor)

    def _start(self, start: RunStart) -> None:
        self._signing = start.signing
        if start.signing is None:
            self._counted.unsigned_runs += 1
        elif self._signer is None or start.signing != self._signer.signing:
            self._counted.foreign_runs += 1

    def _check(self, line: int, anchor: "_SignedHead") -> None:
        if (problem := self._problem(anchor)) is not None:
            self._found.add(line, "anchor", problem)

    def _problem(self, anchor: "_SignedHead") -> str | None:
        if self._signing is None:
            return None if anchor.signature is None else "a signature in an unsigned run"
        if anchor.signature is None:
            return "an unsigned anchor in a signed run"
        if self._signer is None or self._signing != self._signer.signing:
            return None
        if not self._signer.is_right(anchor.kind, anchor.name, anchor.head, anchor.signature):
            return "invalid signature: this anchor was not made with the key"
        self._counted.checked += 1
        return None


class _SignedHead(NamedTuple):
    kind: str
    name: str
    head: Head
    signature: str | None
