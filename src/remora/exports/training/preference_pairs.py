"""Pairs of answers to the same packet, where a person or the model preferred one of the two.

Each row has one of three sources:

- `verdict`: two attempts on one node gave different answers to the same prompt. A person accepted
  the result of one attempt and rejected the other.
- `retry`: the same, but the accepted attempt also received the person's feedback. `prompt` is the
  prompt without the feedback, and `chosen_prompt` is the prompt of the accepted attempt.
- `scores`: the model ranked candidates, and its choice was used. The pair consists of the best and
  second-best candidates, whose scores differ by `margin` nats. This is the model's preference. No
  person rejected the second candidate.

An answer does not count as rejected just because it failed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remora.errors import NotFound, StreamDamaged
from remora.exports.export_counts import ExportCounts
from remora.exports.run_bundles import Attempt, RunBundle
from remora.exports.stream_summary import AgentSummary, summarize_stream
from remora.exports.training.decisions import ModelDecision
from remora.exports.training.sft_rows import (
    OTHER_KIND,
    Row,
    answer_message,
    answered_decisions,
    candidates,
    provenance,
    taken_label,
)
from remora.memory.canonical import canonical_sha256, json_text
from remora.memory.packet import PINNED, DecisionPacket
from remora.trace.trace_folder import TraceFolder

PREFERRED_VERDICTS = frozenset({"accepted"})
REFUSED_VERDICTS = frozenset({"rejected", "retried"})


class _AnswerSide(msgspec.Struct, frozen=True, kw_only=True):
    one: ModelDecision
    survey: AgentSummary
    attempt: Attempt


def score_rows(
    folder: TraceFolder, survey: AgentSummary, attempt: Attempt, tally: ExportCounts
) -> Iterator[Row]:
    """Yield a pair for each ranked decision in which the model's choice was used."""
    if attempt.verdict in REFUSED_VERDICTS:
        return
    for one in answered_decisions(folder, survey, tally):
        ranked = _ranked(one)
        if ranked is None or one.request.messages is None or tally.plain:
            continue
        best, second = ranked
        yield {
            "source": "scores",
            "preferred_by": "model",
            "prompt": one.request.messages,
            "chosen_prompt": one.request.messages,
            "chosen": [_message(best["label"])],
            "rejected": [_message(second["label"])],
            "same_prompt": True,
            "margin": best["score"] - second["score"],
            "feedback": attempt.feedback,
            **_flat("chosen", _candidate_side(best, one, survey, attempt)),
            **_flat("rejected", _candidate_side(second, one, survey, attempt)),
        }


def verdict_rows(folder: TraceFolder, group: RunBundle, tally: ExportCounts) -> Iterator[Row]:
    """Yield pairs of answers from accepted and rejected attempts on the same node of a run.

    Only the requests of one node are held in memory. If a single agent was requested, only pairs
    with an answer by this agent are yielded. An unreadable attempt is counted as damaged.
    """
    jobs: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in group.attempts.values():
        jobs.setdefault((attempt.operation, attempt.node_id), []).append(attempt)
    for attempts in jobs.values():
        wanted = {a.agent_id for a in attempts} & set(group.agents)
        good = [a for a in attempts if a.verdict in PREFERRED_VERDICTS]
        bad = [a for a in attempts if a.verdict in REFUSED_VERDICTS]
        if wanted and good and bad:
            yield from _pairs(
                _sides(folder, good, tally), _sides(folder, bad, tally), wanted, tally
            )


def _sides(
    folder: TraceFolder, attempts: Sequence[Attempt], tally: ExportCounts
) -> list[_AnswerSide]:
    """Return all answers from these attempts that led to a call."""
    found: list[_AnswerSide] = []
    for attempt in attempts:
        try:
            survey = summarize_stream(folder.existing_agent(attempt.agent_id), folder.blobs)
            asked = [
                one
                for one in answered_decisions(folder, survey, ExportCounts())
                if one.call is not None
            ]
        except (StreamDamaged, NotFound) as error:
            tally.damage(error)
            continue
        found += [_AnswerSide(one=one, survey=survey, attempt=attempt) for one in asked]
    return found


def _pairs(
    good: Sequence[_AnswerSide], bad: Sequence[_AnswerSide], wanted: set[str], tally: ExportCounts
) -> Iterator[Row]:
    seen: dict[str, list[_AnswerSide]] = {}
    for side in bad:
        seen.setdefault(_situation_hash(side.one.shown()), []).append(side)
    for chosen in good:
        for rejected in seen.get(_situation_hash(chosen.one.shown()), ()):
            if not wanted & {chosen.survey.agent_id, rejected.survey.agent_id}:
                continue
            if {_is_plain(chosen), _is_plain(rejected)} != {tally.plain}:
                tally.leave_out(OTHER_KIND)
            elif _answer(chosen.one) != _answer(rejected.one):
                yield _pair(chosen, rejected)


def _situation_hash(shown: DecisionPacket) -> str:
    """Hash the packet that a decision was based on, excluding IDs, hub freshness and feedback."""
    knowledge = {key: fact for key, fact in shown.knowledge.items() if key not in PINNED}
    bare = msgspec.structs.replace(
        shown, agent_id="", run_id="", hub_freshness={}, knowledge=knowledge
    )
    return canonical_sha256(bare)


def _is_plain(side: _AnswerSide) -> bool:
    return side.one.request.prompt is not None


def _pair(chosen: _AnswerSide, rejected: _AnswerSide) -> Row:
    same = _prompt(chosen.one) == _prompt(rejected.one)
    return {
        "source": "retry" if not same and PINNED & set(chosen.one.packet.knowledge) else "verdict",
        "preferred_by": "person",
        "prompt": _prompt(rejected.one),
        "chosen_prompt": _prompt(chosen.one),
        "chosen": _answer(chosen.one),
        "rejected": _answer(rejected.one),
        "same_prompt": same,
        "margin": None,
        "feedback": rejected.attempt.feedback,
        **_flat("chosen", provenance(chosen.one, chosen.survey, chosen.attempt)),
        **_flat("rejected", provenance(rejected.one, rejected.survey, rejected.attempt)),
    }


def _prompt(one: ModelDecision) -> Any:
    return one.request.prompt if one.request.messages is None else one.request.messages


def _answer(one: ModelDecision) -> Any:
    """Return the answer that led to the call.

    For ranked candidates, this is the label of the chosen candidate.
    """
    label = taken_label(one)
    message = answer_message(one) if label is None else _message(label)
    return message["content"] if one.request.messages is None else [message]


def _message(text: str) -> Row:
    return {"role": "assistant", "content": text}


def _ranked(one: ModelDecision) -> tuple[Row, Row] | None:
    """Return the model's best and second-best candidates, or None if the model's choice was not
    used.
    """
    if one.call is None or one.call.decided_by != "model":
        return None
    scored = [each for each in candidates(one) if each["score"] is not None]
    if len(scored) < 2:
        return None
    best, second, *_ = sorted(scored, key=lambda each: -each["score"])
    return best, second


def _candidate_side(
    candidate: Row, one: ModelDecision, survey: AgentSummary, attempt: Attempt
) -> Row:
    taken = one.call is not None and json_text(one.call.args) == candidate["args"]
    facts = provenance(one, survey, attempt)
    if not taken or facts["tool"] != candidate["tool"]:  # a call that was not made has no outcome
        facts = {**facts, "outcome": None, "error": None, "decided_by": None}
    return {
        **facts,
        "tool": candidate["tool"],
        "args": candidate["args"],
        "candidate": candidate["label"],
    }


_SIDE_COLUMNS = [
    "tool",
    "args",
    "candidate",
    "decided_by",
    "outcome",
    "error",
    "verified",
    "verdict",
    "model",
    "renderer",
    "strategy",
    "run_id",
    "agent_id",
    "operation",
    "node_id",
    "attempt",
    "turn",
    "seq",
    "line_hash",
    "packet_sha256",
]


def _flat(side: str, facts: Row) -> Row:
    return {f"{side}_{name}": facts[name] for name in _SIDE_COLUMNS}
