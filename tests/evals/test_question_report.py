"""What questions to models were worth, read from recorded streams."""

from typing import Any

from remora.errors import ModelError
from remora.evals.question_report import Question, QuestionReport, questions_of
from remora.models.scripted import ScriptedModel
from tests.agents.conftest import Played, Theatre
from tests.agents.loop.test_decider import CHOICE, OPEN, YAML, choice, own, play, put


def questions(played: Played) -> list[Question]:
    return list(questions_of(played.events, played.folder.blobs))


def test_a_choice_between_different_outcomes_could_matter(theatre: Theatre) -> None:
    found = play(theatre, choice(theatre, "1", "2"), put("2"))
    (one,) = questions(found)
    assert (one.kind, one.strategy, one.outcomes, one.could_matter) == (
        "choice",
        "grammar",
        2,
        True,
    )
    assert (one.decided_by, one.changed, one.requests) == ("model", True, 1)
    assert (one.candidates, one.choice) == (2, 1)


def test_a_text_that_no_check_accepts_could_not_matter_if_it_changes_nothing(
    theatre: Theatre,
) -> None:
    (one,) = questions(play(theatre, own(theatre, OPEN), "prose", "prose", samples=2))
    assert (one.kind, one.requests, one.outcomes, one.could_matter) == ("text", 2, 1, False)
    assert one.decided_by == ""


def test_a_request_that_fails_counts(theatre: Theatre) -> None:
    """For example because the server's answer is not JSON."""
    (one,) = questions(play(theatre, own(theatre, OPEN), ModelError("not JSON"), samples=2))
    assert (one.requests, one.could_matter, one.decided_by) == (1, None, "")
    assert one.tokens > 0


def test_the_samples_of_a_text_are_one_question(theatre: Theatre) -> None:
    (one,) = questions(play(theatre, own(theatre, OPEN), put("("), put("7"), samples=2))
    assert (one.kind, one.requests, one.candidates, one.could_matter) == ("text", 2, 2, True)


def test_a_larger_model_is_asked_a_question_of_its_own(theatre: Theatre) -> None:
    found = play(
        theatre, own(theatre, OPEN), put("("), larger=ScriptedModel([put("9")] * 2, name="large")
    )
    assert [(one.model, one.decided_by) for one in questions(found)] == [
        ("scripted", ""),
        ("large", "escalation"),
    ]


def test_a_choice_without_trials_is_a_choice(theatre: Theatre) -> None:
    agent = own(theatre, CHOICE.replace("VALUES", "['1', '2']"), YAML.replace("trials: true", ""))
    (one,) = questions(play(theatre, agent, put("2")))
    assert (one.kind, one.candidates, one.could_matter, one.changed) == ("choice", 2, None, True)


def question(**more: Any) -> Question:
    settings = {"agent_id": "a", "node_id": "n", "turn": 1, "kind": "choice"}
    return Question(**{**settings, "strategy": "grammar", "model": "m", **more})


def test_totals_count_what_was_tried() -> None:
    tried = question(outcomes=2, tokens=5)
    totals = QuestionReport("r", (tried, question(tokens=7))).as_json()["totals"]
    assert (totals["questions"], totals["tried"], totals["could_matter"]) == (2, 1, 1)
    assert totals["tokens"] == 12
