"""Scores of answers: every scorer with its settings, and what a record can be scored with again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from paredown import registry
from paredown.contracts import Scorer
from paredown.records.figure import Options
from paredown.records.golden import Answer, GoldenItem, Score

Settings = Mapping[str, Options]
"""Options by scorer, as the user gave them; what is not named has its default."""


def resolved(scorer: Scorer, settings: Settings) -> Options:
    """Every option of a scorer written out."""
    given = settings.get(scorer.name, {})
    return {option.name: given.get(option.name, option.default) for option in scorer.options}


def identity(names: Sequence[str], settings: Settings) -> list[tuple[str, int, Options]]:
    """What a score depends on beside item and answer: versions, and the options that change numbers."""
    found: list[tuple[str, int, Options]] = []
    for name in sorted(set(names)):
        scorer = registry.scorer(name)
        counting = {option.name for option in scorer.options if option.changes_numbers}
        options = {key: value for key, value in resolved(scorer, settings).items() if key in counting}
        found.append((name, scorer.version, options))
    return found


def score(
    items: Sequence[GoldenItem], answers: Sequence[Answer], settings: Settings | None = None
) -> tuple[Score, ...]:
    """Scores of answers that stand in the order of the items. Raises UserError for settings that a scorer refuses."""
    found: dict[int, Score] = {}
    by_scorer: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        by_scorer.setdefault(item.scorer, []).append(place)
    for name, places in by_scorer.items():
        scorer = registry.scorer(name)
        judge = _guarded(scorer, settings or {})
        pairs = [(items[place], answers[place]) for place in places]
        if scorer.at_once > 1:
            with ThreadPoolExecutor(scorer.at_once) as pool:
                scores = list(pool.map(judge, *zip(*pairs, strict=True)))
        else:
            scores = [judge(*pair) for pair in pairs]
        found.update(zip(places, scores, strict=True))
    return tuple(found[place] for place in range(len(items)))


def score_again(items: Sequence[GoldenItem], answers: Sequence[Answer], recorded: Sequence[Score]) -> tuple[Score, ...]:
    """As `score`, but the recorded scores stand where a scorer asks a server or runs code."""
    pure = [place for place, item in enumerate(items) if registry.scorer(item.scorer).pure]
    again = iter(score([items[place] for place in pure], [answers[place] for place in pure]))
    return tuple(next(again) if place in set(pure) else old for place, old in enumerate(recorded))


def summaries(items: Sequence[GoldenItem], scores: Sequence[Score]) -> dict[str, str]:
    """What scorers say on their scores as a whole, by scorer."""
    found = {}
    for name in sorted({item.scorer for item in items}):
        summarize = registry.scorer(name).summarize
        own = [score for item, score in zip(items, scores, strict=True) if item.scorer == name]
        if summarize is not None and (sentence := summarize(own)):
            found[name] = sentence
    return found


def chance(item: GoldenItem) -> float | None:
    """The item's score under random guessing, by its own scorer; None = unknown."""
    return registry.scorer(item.scorer).chance(item)


def _guarded(scorer: Scorer, settings: Settings) -> Callable[[GoldenItem, Answer], Score]:
    judge = scorer.bind(resolved(scorer, settings)) if scorer.bind is not None else scorer.score

    def guarded(item: GoldenItem, answer: Answer) -> Score:
        try:
            given = judge(item, answer)
        except Exception as error:  # noqa: BLE001 a plug-in's fault costs one item, which is counted as not scored
            return Score(item.id, None, f"the scorer {item.scorer} failed: {type(error).__name__}: {error}")
        if given.value is not None and not 0.0 <= given.value <= 1.0:
            return Score(item.id, None, f"the scorer {item.scorer} gave {given.value!r}, not a number from 0 to 1")
        return given

    return guarded
