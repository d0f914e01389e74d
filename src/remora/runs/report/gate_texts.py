"""Texts about the gates that judged a run's changes, and those that could not."""

from remora.memory.events import GateResult
from remora.runs.records.results import RunView
from remora.statuses import KEPT, TEST_GATE, VALUES_GATE


def gate_texts(view: RunView) -> list[str]:
    """Return the proof, such as `tested: mypy and pytest report the same as before`, and the gaps.

    The last text says why the change sets are not tested. There are none without change sets.
    """
    if view.gates is None or not any(job.review.state in KEPT for job in view.jobs):
        return []
    results = sorted(view.gates.results, key=lambda gate: gate.name == TEST_GATE)
    *others, last = [gate.label for gate in results if not gate.missing] or [""]
    held = f"{', '.join(others)} and {last} report" if others else f"{last} reports"
    said = (
        f"{held} the same as before" if last else "none of the project's own checks came to an end"
    )
    first = f"{view.gates.proof}: {said}"
    return [first, *(text for gate in results if (text := _text(gate)))]


def _text(gate: GateResult) -> str:
    if gate.missing:
        kinds = {TEST_GATE: "not tested", VALUES_GATE: "not judged by values"}
        return f"{kinds.get(gate.name, f'no gate: {gate.name}')}: {gate.missing}"
    return f"not judged by {gate.name}: {gate.note}" if gate.note else ""
