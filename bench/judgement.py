"""Measure whether the embedded model's likelihood judges better than free baselines.

Usage: python bench/judgement.py --use raise-from|docstring-text|docstring-words [--seed N]...
[--functions N] [--json FILE]

Each question has several texts for a place in public code, and people wrote one of them. An arm is
right if it gives that one the highest score. Weights are fitted on development packages, and the
table is about others. Log probabilities are kept in the cache folder: an interrupted measurement
continues where it ended.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from judgement_arms import (
    Scored,
    ask,
    baseline_scores,
    calibration_facts,
    combined_facts,
    fit_baseline,
    fit_combination,
    likelihood,
)
from judgement_model import ScoredTexts
from judgement_packages import version_of
from judgement_question import Features, Question
from judgement_statistics import (
    credit,
    false_alarms,
    fitted_weights,
    paired_bootstrap,
    weighted,
)
from judgement_uses import Use, development_sample, load, packages_of
from types_packages import CACHE

USES = ("raise-from", "docstring-text", "docstring-words")
LOGPROBS = CACHE.parent / "judgement" / "logprobs.jsonl"
_POOL = 1.1
"""Held-out questions for each one that a seed draws."""
_DEVELOPMENT = 80
_CONTROL = 60
"""Questions of the first seed that are asked again with renamed identifiers."""
_MODEL_ARMS = ("likelihood, unweighted", "likelihood", "combined")
_RECALLS = (0.1, 0.25, 0.5)
_WRONG = (0.5, 0.02)
"""Shares of wrong texts for which the precision is computed."""

Scores = dict[str, list[list[float]]]
"""For each arm, the scores of each question's options."""


class Arms:
    """The arms of a use with weights from the development packages."""

    def __init__(self, use: Use, development: Sequence[Scored]) -> None:
        self._baselines = [(each, fit_baseline(use.training, each)) for each in use.baselines]
        self.baselines = [each.name for each in use.baselines]
        self.likelihood: Features = fitted_weights(
            [(calibration_facts(each), each.question.right) for each in development], rounds=100
        )
        # the last baseline but one has few facts for each word
        self._free, self._free_weights = max(
            self._baselines, key=lambda each: each[0].name == "trained"
        )
        self.combined = fit_combination(development, use.training, self._free)

    def scores(self, scored: Sequence[Scored]) -> Scores:
        """Return the scores of all arms."""
        found: Scores = {
            baseline.name: [baseline_scores(each.question, baseline, weights) for each in scored]
            for baseline, weights in self._baselines
        }
        found["likelihood, unweighted"] = [likelihood(each) for each in scored]
        found["likelihood"] = [weighted(calibration_facts(x), self.likelihood) for x in scored]
        found["combined"] = [self._combined(each) for each in scored]
        return found

    def _combined(self, scored: Scored) -> list[float]:
        free = baseline_scores(scored.question, self._free, self._free_weights)
        return weighted(combined_facts(scored, free), self.combined)


def measured(arms: Arms, scored: Sequence[Scored], seed: int) -> dict[str, Any]:
    """Return the accuracy of each arm, and of the model's arms minus the best free baseline."""
    packages = [each.question.package for each in scored]
    scores = arms.scores(scored)
    credits = {
        arm: [credit(own, x.question.right) for own, x in zip(found, scored, strict=True)]
        for arm, found in scores.items()
    }
    accuracy = {arm: round(fmean(found), 4) for arm, found in credits.items()}
    best = max(arms.baselines, key=lambda arm: accuracy[arm])
    differences = {
        arm: [
            round(x, 4) for x in paired_bootstrap(packages, credits[arm], credits[best], seed=seed)
        ]
        for arm in _MODEL_ARMS
    }
    return {
        "questions": len(scored),
        "packages": len(set(packages)),
        "accuracy": accuracy,
        "best_baseline": best,
        "difference": differences,
        **_pairs(scores, scored),
        "advisory": {arm: _advisory(scores[arm], scored) for arm in (best, *_MODEL_ARMS)},
    }


def _pairs(scores: Scores, scored: Sequence[Scored]) -> dict[str, Any]:
    """Return the share of pairs of a right and a wrong option that each arm orders rightly."""
    return {
        "pairs": {
            arm: round(
                fmean(
                    credit([own[x.question.right], other], 0)
                    for own, x in zip(found, scored, strict=True)
                    for number, other in enumerate(own)
                    if number != x.question.right
                ),
                4,
            )
            for arm, found in scores.items()
        }
    }


def _advisory(scores: Sequence[Sequence[float]], scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Return how many true texts are flagged with a part of the false ones, and the precision."""
    gains = [
        own[x.question.right] - max(v for n, v in enumerate(own) if n != x.question.right)
        for own, x in zip(scores, scored, strict=True)
    ]
    rows = []
    for recall in _RECALLS:
        alarms = false_alarms(gains, recall)
        precision = {
            str(share): round(recall * share / (recall * share + alarms * (1 - share)), 3)
            for share in _WRONG
        }
        rows.append({"recall": recall, "false_alarms": round(alarms, 4), "precision": precision})
    return rows


def asked(model: ScoredTexts, questions: Sequence[Question], what: str) -> list[Scored]:
    """Return the questions with the model's log probabilities, and show the progress."""
    found = []
    for number, question in enumerate(questions, 1):
        found.append(ask(model, question))
        if number % 25 == 0 or number == len(questions):
            print(f"{what}: {number} of {len(questions)}", file=sys.stderr, flush=True)
    return found


def measure(use: Use, model: ScoredTexts, seeds: Sequence[int], count: int) -> dict[str, Any]:
    """Return the figures of a use for each seed, and those with renamed identifiers."""
    arms = Arms(use, asked(model, development_sample(use, _DEVELOPMENT), "development"))
    pool = asked(model, use.held_out, "held out")
    drawn = {seed: random.Random(seed).sample(pool, min(count, len(pool))) for seed in seeds}
    results = {str(seed): measured(arms, scored, seed) for seed, scored in drawn.items()}
    first = seeds[0]
    renamed = [use.rename(each.question) for each in drawn[first][:_CONTROL]]
    control = measured(arms, asked(model, renamed, "renamed"), first)
    return {
        "training_questions": len(use.training),
        "pool": len(pool),
        "held_out": packages_of(use.held_out),
        "development": packages_of(use.training),
        "versions": {
            x: version_of(x) for x in (*packages_of(use.training), *packages_of(use.held_out))
        },
        "weights": {key: round(value, 3) for key, value in arms.likelihood.items()},
        "combined_weights": {key: round(value, 3) for key, value in arms.combined.items()},
        "seeds": results,
        "renamed": {str(first): control},
        "is_on": is_on(results),
    }


def is_on(results: dict[str, dict[str, Any]]) -> dict[str, bool]:
    """Return for each arm of the model if its lower bound is above zero with every seed."""
    return {
        arm: all(each["difference"][arm][1] > 0 for each in results.values()) for arm in _MODEL_ARMS
    }


def table(result: dict[str, Any]) -> str:
    """Return the figures as a Markdown table with one row per arm."""
    columns = [(f"seed {seed}", found) for seed, found in result["seeds"].items()]
    columns += [(f"renamed, seed {seed}", found) for seed, found in result["renamed"].items()]
    first = columns[0][1]
    lines = [
        "| arm | " + " | ".join(name for name, _ in columns) + " |",
        "|---|" + "---|" * len(columns),
        _row("questions (packages)", [f"{x['questions']} ({x['packages']})" for _, x in columns]),
    ]
    lines += [
        _row(arm, [f"{found['accuracy'][arm]:.3f}" for _, found in columns])
        for arm in first["accuracy"]
    ]
    lines.append(_row("best free baseline", [found["best_baseline"] for _, found in columns]))
    for arm in _MODEL_ARMS:
        cells = [
            "{:+.3f} ({:+.3f} to {:+.3f})".format(*found["difference"][arm]) for _, found in columns
        ]
        lines.append(_row(f"{arm}: difference", cells))
    return "\n".join(lines)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--use", choices=USES, required=True)
    parser.add_argument("--seed", type=int, action="append", help="can be repeated")
    parser.add_argument("--functions", type=int, default=300, help="questions per seed")
    parser.add_argument("--json", type=Path, help="file of the figures, by use")
    options = parser.parse_args()
    use = load(options.use, round(options.functions * _POOL))
    with ScoredTexts(LOGPROBS) as model:
        result = measure(use, model, options.seed or [1, 2, 3], options.functions)
    print(table(result))
    for arm, found in result["is_on"].items():
        print(f"{arm}: {'on' if found else 'off'}")
    if model.asked:
        print(f"{model.seconds:.0f} s for {model.asked} requests to the model")
    if options.json:
        known = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
        document = known | {use.name: result}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
