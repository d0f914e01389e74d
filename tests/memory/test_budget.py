"""The trim list: which single steps, in which order, and that no request passes the limit."""

import random
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remora.chat import ToolSchema
from remora.memory import delta as make
from remora.memory.budget import WITH_CODE, WITHOUT_CODE, Balance, fit, trim, trim_steps
from remora.memory.canonical import canonical, canonical_size
from remora.memory.delta import PacketDelta
from remora.memory.excerpts import code_lines
from remora.memory.packet import Action, Candidate, DecisionPacket, Excerpt, Fact, packet_json
from remora.memory.projection import apply
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.render import render


def action(turn: int) -> Action:
    return Action(turn=turn, tool="t", args={}, summary=f"s{turn}", outcome="success")


TARGET = "node:p.py:f"
LETTERS = "abcdefghijklmnopqrst"
RICH = DecisionPacket(
    node_id=TARGET,
    candidate_actions=tuple(Candidate(tool=f"c{n}") for n in range(4)),
    excerpt=Excerpt(ref="p", path="p.py", lines=(10, 29), text="\n".join(LETTERS)),
    hub_context={"old": 1, TARGET: 2, "new": 3},
    hub_freshness={"old": "t", TARGET: "t", "bare": "t"},
    recent_actions=tuple(action(n) for n in range(5)),
    knowledge={k: Fact(value=k, source_turn=1) for k in ("x", "feedback", "b", "a")},
    diagnostics=("d0", "d1", "d2"),
    extensions={"b": 1, "ä": 2, "Z": 3},
)


def left(packet: DecisionPacket) -> dict[str, Any]:
    """What of each kind is left, in a short spelling."""
    excerpt = packet.excerpt
    return {
        "candidates": "".join(c.tool[1] for c in packet.candidate_actions),
        "excerpt_lines": excerpt and "".join(line for _, line in code_lines(excerpt)),
        "hub_nodes": [n for n in packet.hub_context if n != TARGET],
        "fresh": [n for n in packet.hub_freshness if n != TARGET],
        "actions": [a.turn for a in packet.recent_actions],
        "knowledge": list(packet.knowledge),
        "diagnostics": len(packet.diagnostics),
        "extensions": list(packet.extensions),
        "hub_facts": TARGET in packet.hub_context or TARGET in packet.hub_freshness,
    }


STEPS: list[tuple[dict[str, Any], str, int]] = [
    ({"candidates": "012"}, "candidates", 1),
    ({"candidates": "01"}, "candidates", 2),
    ({"hub_nodes": ["new"], "fresh": ["bare"]}, "hub_nodes", 1),
    ({"hub_nodes": []}, "hub_nodes", 2),
    ({"fresh": []}, "hub_nodes", 3),
    ({"actions": [1, 2, 3, 4]}, "actions", 1),
    ({"actions": [2, 3, 4]}, "actions", 2),
    ({"knowledge": ["feedback", "b", "a"]}, "knowledge", 1),
    ({"knowledge": ["feedback", "a"]}, "knowledge", 2),
    ({"knowledge": ["feedback"]}, "knowledge", 3),
    ({"hub_facts": False}, "hub_facts", 1),
    ({"extensions": ["b", "Z"]}, "extensions", 1),
    ({"extensions": ["Z"]}, "extensions", 2),
    ({"extensions": []}, "extensions", 3),
    ({"excerpt_lines": "abcdefghilmnopqrst"}, "excerpt_lines", 2),
    ({"excerpt_lines": "abcdefghmnopqrst"}, "excerpt_lines", 4),
    ({"excerpt_lines": "abcdefghnopqrst"}, "excerpt_lines", 5),
    ({"diagnostics": 2}, "diagnostics", 1),
    ({"diagnostics": 1}, "diagnostics", 2),
    ({"excerpt_lines": "abcdefgopqrst"}, "excerpt_lines", 7),
    ({"excerpt_lines": "abcdefpqrst"}, "excerpt_lines", 9),
    ({"excerpt_lines": "abcdeqrst"}, "excerpt_lines", 11),
    ({"excerpt_lines": "abcdrst"}, "excerpt_lines", 13),
    ({"excerpt_lines": "abcst"}, "excerpt_lines", 15),
    ({"actions": [3, 4]}, "actions", 3),
    ({"actions": [4]}, "actions", 4),
]


@pytest.mark.parametrize("n", range(len(STEPS) + 1))
def test_the_first_n_steps_are_those_of_the_list(n: int) -> None:
    expected, omitted = left(RICH), {}
    for change, what, count in STEPS[:n]:
        expected |= change
        omitted[what] = count
    trimmed = trim(RICH, n)
    assert left(trimmed) == expected
    assert trimmed.omitted == omitted


def test_the_option_to_stop_is_kept() -> None:
    tools = ["a", "b", "c", "submit_result"]
    packet = DecisionPacket(candidate_actions=tuple(Candidate(tool=tool) for tool in tools))
    trimmed = trim(packet, 99)
    assert [one.tool for one in trimmed.candidate_actions] == ["a", "submit_result"]
    assert trimmed.omitted == {"candidates": 2}


def remembered(packet: DecisionPacket) -> dict[str, Any]:
    return {key: fact.value for key, fact in packet.knowledge.items()}


def knowing(**texts: Any) -> DecisionPacket:
    return DecisionPacket(
        knowledge={key: Fact(value=text, source_turn=1) for key, text in texts.items()}
    )


LONG = ";".join(f"path{n}=value{n},other{n}" for n in range(12))
HALF = ";".join(f"path{n}=value{n},other{n}" for n in range(6)) + "…"


def test_a_long_text_is_halved_before_it_goes() -> None:
    packet = knowing(old=LONG, feedback=LONG, short="s", new=LONG)
    steps = [remembered(step) for step in trim_steps(packet)]
    assert steps == [
        {"old": HALF, "feedback": LONG, "short": "s", "new": LONG},
        {"feedback": LONG, "short": "s", "new": LONG},
        {"feedback": LONG, "new": LONG},
        {"feedback": LONG, "new": HALF},
        {"feedback": LONG},
    ]
    assert trim(packet, 5).omitted == {"knowledge": 3}


@pytest.mark.parametrize(
    ("value", "halved"),
    [
        ("x" * 199, None),
        ("x" * 200, "x" * 100 + "…"),
        ("a,b" + "x" * 200, "a…"),
        (["x" * 200], None),
    ],
)
def test_only_long_texts_are_halved_between_two_facts(value: Any, halved: str | None) -> None:
    first = next(trim_steps(knowing(key=value)))
    assert remembered(first) == ({} if halved is None else {"key": halved})


def test_after_the_last_step_nothing_more_goes() -> None:
    assert len(list(trim_steps(RICH))) == len(STEPS)
    last = trim(RICH, len(STEPS))
    assert trim(RICH, 10_000) == last
    assert list(trim_steps(last)) == []


def test_a_packet_with_nothing_to_spare_has_no_steps() -> None:
    assert list(trim_steps(DecisionPacket(goal="g" * 300, last_error="e" * 300))) == []


@pytest.mark.parametrize(("lines", "kept"), [(5, 5), (6, 5), (8, 5), (1, 1)])
def test_an_excerpt_shrinks_while_more_than_five_lines_are_left(lines: int, kept: int) -> None:
    text = "\n".join("x" * lines)
    packet = DecisionPacket(excerpt=Excerpt(ref="", path="", lines=(1, lines), text=text))
    excerpt = trim(packet, 99).excerpt
    assert excerpt is not None
    assert len(code_lines(excerpt)) == kept
    assert excerpt.lines == (1, lines)


def test_the_definition_and_the_lines_around_the_focus_stay() -> None:
    text = "\n".join(LETTERS)
    excerpt = Excerpt(ref="", path="", lines=(10, 29), text=text, focus=20)
    shown = trim(DecisionPacket(excerpt=excerpt), 99).excerpt
    assert shown is not None
    assert list(code_lines(shown)) == [(10, "a"), (18, "i"), (19, "j"), (20, "k"), (21, "l")]
    assert shown.text == "a\n... 7 lines ...\ni\nj\nk\nl\n... 8 lines ..."


@pytest.mark.parametrize(("excerpt", "balance"), [(RICH.excerpt, WITH_CODE), (None, WITHOUT_CODE)])
def test_much_knowledge_goes_before_actions_and_the_rest_after_them(
    excerpt: Excerpt | None, balance: Balance
) -> None:
    packet = replace(
        knowing(**{f"k{n:02}": f"{n}" * 80 for n in range(60)}),
        excerpt=excerpt,
        recent_actions=tuple(action(n) for n in range(10)),
    )
    stages = [(len(s.recent_actions), canonical_size(s.knowledge)) for s in trim_steps(packet)]
    first = next(n for n, (actions, _) in enumerate(stages) if actions < 10)
    assert balance.much_knowledge - 200 < stages[first - 1][1] <= balance.much_knowledge
    after = first + 10 - balance.actions
    assert stages[after][0] == balance.actions
    assert stages[after][1] < stages[first][1]


def test_trimming_is_pure() -> None:
    before = canonical(RICH)
    assert trim(RICH, 7) == trim(RICH, 7)
    assert canonical(RICH) == before
    assert trim(RICH, 0) is RICH


def size(packet: DecisionPacket) -> int:
    return len(canonical(packet))


def test_the_fewest_steps_are_taken() -> None:
    sizes = [size(trim(RICH, n)) for n in range(len(STEPS) + 1)]
    for limit in [1, *range(sizes[-1] - 2, sizes[0] + 2)]:
        found = fit(RICH, limit, size)
        assert found.packet == trim(RICH, found.trim)
        assert found.tokens == sizes[found.trim]
        assert found.fits == (found.tokens <= limit)
        assert found.fits or found.trim == len(STEPS)
        assert all(tokens > limit for tokens in sizes[: found.trim])


# Random streams: whatever tools say, a request is within the limit or is not sent.

TOOLS = (
    ToolSchema(
        name="edit_line",
        description="Replace one line.",
        parameters={
            "type": "object",
            "properties": {"line": {"type": "integer"}, "text": {"type": "string"}},
            "required": ["line"],
        },
    ),
    ToolSchema(name="submit_result"),
)
WAYS = [("lines/2", "grammar"), ("json/1", "grammar"), ("functiongemma/3", "completion")]
CHARACTERS = 'ab \n\t"\\{}<>é漢😀\x00\ud800'


def words(rng: random.Random, longest: int) -> str:
    return "".join(rng.choices(CHARACTERS, k=int(rng.random() ** 3 * longest)))


def facts(rng: random.Random, keys: int) -> dict[str, Any]:
    kinds: list[Callable[[], Any]] = [
        lambda: words(rng, 700),
        rng.random,
        lambda: [words(rng, 30)] * rng.randrange(30),
        lambda: {words(rng, 9): None},
    ]
    return {f"k{rng.randrange(90)}": rng.choice(kinds)() for _ in range(keys)}


def random_delta(rng: random.Random, turn: int) -> PacketDelta:
    nodes = rng.sample([TARGET, *"abcdefgh"], k=rng.randrange(5))
    candidates = [{"line": n, "text": words(rng, 60)} for n in range(rng.randrange(25))]
    every: dict[str, Callable[[], Any]] = {
        "turn": lambda: turn,
        "state_summary": lambda: make.one_line(words(rng, 900), 300),
        "excerpt": lambda: make.excerpt("r", "p.py", 1, words(rng, 4000)),
        "candidate_actions": lambda: tuple(
            make.candidate("edit_line", args, words(rng, 300)) for args in candidates
        ),
        "diagnostics": lambda: make.diagnostics([words(rng, 300) for _ in range(30)]),
        "add_action": lambda: make.new_action("t", facts(rng, 3), words(rng, 500), "success"),
        "update_knowledge": lambda: make.knowledge(facts(rng, rng.randrange(25))),
        "forget_knowledge": lambda: (f"k{rng.randrange(90)}",),
        "set_error": lambda: rng.choice([None, make.error_text(words(rng, 900))]),
        "hub_context": lambda: make.knowledge({n: words(rng, 300) for n in nodes}),
        "hub_freshness": lambda: dict.fromkeys(nodes, "2026-01-01T00:00:00Z"),
        "extensions": lambda: make.knowledge(facts(rng, 2)),
    }
    return PacketDelta(**{key: said() for key, said in every.items() if rng.random() < 0.6})


def random_packets(rng: random.Random) -> list[DecisionPacket]:
    start = DecisionPacket(node_id=TARGET, goal=make.one_line(words(rng, 900), 300))
    deltas = [random_delta(rng, turn) for turn in range(1, rng.randrange(2, 6))]
    return list(accumulate(deltas, apply, initial=start))


def tokens(rendered: RenderedRequest) -> int:
    said = [rendered.prompt or "", *(m.content for m in rendered.messages or ())]
    return (sum(len(text.encode()) for text in said) + 3) // 4


def stays_within_the_limit(seed: int) -> None:
    rng = random.Random(seed)
    limit = rng.choice([60, 150, 300, 600, 1500])
    renderer, strategy = rng.choice(WAYS)

    def measure(packet: DecisionPacket) -> int:
        return tokens(render(renderer, packet, TOOLS, strategy))

    for packet in random_packets(rng)[-2:]:
        found = fit(packet, limit, measure)
        assert found.packet == trim(packet, found.trim)
        sent = tokens(render(renderer, found.packet, TOOLS, strategy))
        assert sent == found.tokens
        assert found.fits == (sent <= limit)
        if not found.fits:
            assert list(trim_steps(found.packet)) == []


seeds = st.integers(0, 2**64)


@settings(max_examples=10)
@given(seeds)
def test_no_request_passes_the_limit(seed: int) -> None:
    stays_within_the_limit(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(5))
@settings(max_examples=2000)
@given(seeds)
def test_no_request_of_ten_thousand_streams_passes_the_limit(part: int, seed: int) -> None:
    stays_within_the_limit(5 * seed + part)


@pytest.mark.slow
@settings(max_examples=25)
@given(seeds)
def test_every_step_takes_something_and_says_how_much_is_gone(seed: int) -> None:
    packet = random_packets(random.Random(seed))[-1]
    stages = [packet, *trim_steps(packet)]
    for before, after in pairwise(stages):
        assert size(shown(after)) < size(shown(before))
        gone = {what: counted(packet)[what] - n for what, n in counted(after).items()}
        assert after.omitted == {what: n for what, n in gone.items() if n}
    last = stages[-1]
    untouched = ("goal", "node_summary", "state_summary", "last_error", "turn", "constraints")
    for key in untouched:
        assert getattr(last, key) == getattr(packet, key)


def shown(packet: DecisionPacket) -> DecisionPacket:
    """The packet without what says how much is gone."""
    excerpt = packet.excerpt
    if excerpt is not None:
        excerpt = replace(excerpt, text="\n".join(line for _, line in code_lines(excerpt)))
    return replace(packet, omitted={}, excerpt=excerpt)


def counted(packet: DecisionPacket) -> dict[str, int]:
    built = packet_json(packet)
    nodes = {*built["hub_context"], *built["hub_freshness"]}
    return {
        "candidates": len(built["candidate_actions"]),
        "excerpt_lines": len(code_lines(packet.excerpt)) if packet.excerpt else 0,
        "hub_nodes": len(nodes - {TARGET}),
        "actions": len(built["recent_actions"]),
        "knowledge": len(built["knowledge"]),
        "diagnostics": len(built["diagnostics"]),
        "extensions": len(built["extensions"]),
        "hub_facts": int(TARGET in nodes),
    }
