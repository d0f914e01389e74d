"""Texts are shown at the place that the packet names, or else at the end of its excerpt."""

from msgspec.structs import replace

from remora.chat import TextWeights
from remora.memory.delta import candidate
from remora.memory.packet import DecisionPacket, Excerpt, TextPlace
from remora.memory.prompt.render import render

PLACE = TextPlace(before="code\nhead:", empty="head:", given="0.5", alone="-0.25", end=".")
PACKET = DecisionPacket(
    excerpt=Excerpt(ref="code", path="a.py", lines=(1, 2), text="def f():\n    return"),
    candidate_actions=(candidate("put", {}, "", "Go  on"), candidate("put", {}, "", "Why?")),
)


def test_without_a_place_texts_go_to_the_end_of_the_excerpt() -> None:
    shown = render("likelihood/2", PACKET, (), "likelihood")
    assert (shown.prompt, shown.empty) == ("def f():\n    return", "    return")
    assert (shown.texts, shown.weights) == (("Go  on", "Why?"), TextWeights())


def test_a_place_has_its_own_prompts_and_weights() -> None:
    shown = render("likelihood/2", replace(PACKET, text_place=PLACE), (), "likelihood")
    assert (shown.prompt, shown.empty) == ("code\nhead:", "head:")
    assert shown.weights == TextWeights(given=0.5, alone=-0.25)


def test_texts_at_a_place_are_one_line_that_ends_a_sentence() -> None:
    shown = render("likelihood/2", replace(PACKET, text_place=PLACE), (), "likelihood")
    assert shown.texts == ("Go on.", "Why?")


def test_the_first_version_knows_no_place() -> None:
    packet = replace(PACKET, text_place=PLACE)
    assert render("likelihood/1", packet, (), "likelihood") == render(
        "likelihood/1", PACKET, (), "likelihood"
    )


def test_a_place_is_not_shown_to_models_that_write() -> None:
    placed = replace(PACKET, text_place=PLACE)
    for renderer in ("lines/1", "json/1"):
        assert render(renderer, placed, (), "grammar") == render(renderer, PACKET, (), "grammar")
