"""Why each candidate was judged as it was: from the record alone, but for the texts of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paredown.decide import breakdown, drift, pairs
from paredown.decide.drift import Decode
from paredown.decide.pairs import Pair
from paredown.errors import UserError
from paredown.evaluate import scoring
from paredown.flow.baseline import Baseline
from paredown.flow.conclude import Conclusion
from paredown.flow.context import Prepared
from paredown.flow.evidence import Evidence
from paredown.hosts import tokenizer as tokenizers
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records import codec
from paredown.records.explanation import DriftedText, Explanation, Flip, PromptTokens, Sensitivity
from paredown.records.golden import Answer, Evaluation, GoldenItem, Score
from paredown.store.run_store import RunStore

SPLITS = ("confirmation", "screening")


def remember(store: RunStore, prepared: Prepared, concluded: Conclusion) -> None:
    """Explain every candidate that has something to explain, into the record."""
    tokens, why = _tokenizer(prepared)
    key = _key(prepared)
    if tokens is not None and store.find("prompt tokens", key, PromptTokens) is None:
        store.put("prompt tokens", key, _prompt_tokens(tokens, _items(prepared)), bulk=True)
    lengths = prompt_tokens(store, prepared)
    for one in concluded.evidence:
        made = explain(prepared, concluded.baseline, one, lengths, tokens.tokenizer.decode if tokens else None, why)
        name = one.planned.name
        explainable = one.fidelity is not None or made.compared > 0
        before = store.find("explanation", name, Explanation)
        if tokens is None and before is not None:
            # Texts that were kept while the model was there are not lost because it is gone.
            made = replace(made, drifted=before.drifted, drifted_missing=before.drifted_missing)
        if explainable and before != made:
            store.put("explanation", name, made, bulk=True)


def stored(store: RunStore, prepared: Prepared, baseline: Baseline, one: Evidence) -> Explanation:
    """The explanation in the record; of a run that kept none, the same without the texts that drifted."""
    found = store.find("explanation", one.planned.name, Explanation)
    if found is not None:
        return found
    why = "this run was made before they were kept; `paredown explain` adds them"
    return explain(prepared, baseline, one, prompt_tokens(store, prepared), None, why)


def stored_sensitivity(store: RunStore, one: Evidence) -> Sensitivity | None:
    """What was measured of this candidate's layers before; of the same artifact, whatever else changed."""
    return None if one.candidate is None else store.find("sensitivity", one.candidate.digest(), Sensitivity)


def flips(prepared: Prepared, baseline: Baseline, one: Evidence) -> tuple[Flip, ...]:
    """Every item whose score changed, over both splits: losses first, the largest first; then gains."""
    return _flips([(split, pair) for split in SPLITS for pair in _pairs(prepared, baseline, one, split)])


def prompt_tokens(store: RunStore, prepared: Prepared) -> Mapping[str, int]:
    """Tokens of every prompt, as far as the record has them."""
    found = store.find("prompt tokens", _key(prepared), PromptTokens)
    return found.tokens if found else {}


def _items(prepared: Prepared) -> tuple[GoldenItem, ...]:
    return (*prepared.screening, *prepared.confirmation)


def _key(prepared: Prepared) -> str:
    return codec.digest([item.id for item in _items(prepared)])[:16]


def explain(
    prepared: Prepared,
    baseline: Baseline,
    one: Evidence,
    lengths: Mapping[str, int],
    decode: Decode | None,
    no_tokens: str = "",
) -> Explanation:
    """Everything that follows from the stored answers and log-probabilities of one candidate.

    decode: token ids → text; None = not possible here, `no_tokens` says why
    """
    compared = [(split, pair) for split in SPLITS for pair in _pairs(prepared, baseline, one, split)]
    answered = _answers(one)
    drifted, missing = _drifted(baseline, one, decode, answered, no_tokens)
    return Explanation(
        candidate=one.planned.name,
        compared=len(compared),
        flips=_flips(compared),
        drifted=drifted,
        groups=breakdown.groups([pair for _, pair in compared], lengths),
        scorers=_summaries(_items(prepared), one),
        drifted_missing=missing,
    )


def figures_of(explanation: Explanation) -> Explanation:
    """The explanation without its texts: what can be computed again without the model's tokenizer."""
    return replace(explanation, drifted=(), drifted_missing="")


def _pairs(prepared: Prepared, baseline: Baseline, one: Evidence, split: str) -> Sequence[Pair]:
    after: Evaluation | None = getattr(one, split)
    if after is None:
        return ()
    return pairs.pair(getattr(baseline, split), after, prepared.items(split)).pairs


def _flips(compared: Sequence[tuple[str, Pair]]) -> tuple[Flip, ...]:
    """Losses first, the largest first; then gains."""
    found = [
        Flip(pair.item.id, split, pair.item.slice, pair.baseline, pair.candidate)
        for split, pair in compared
        if pair.baseline != pair.candidate
    ]
    return tuple(sorted(found, key=lambda flip: (not flip.lost, -abs(flip.baseline - flip.candidate))))


def _answers(one: Evidence) -> dict[str, Answer]:
    evaluations: list[Evaluation | None] = [one.screening, one.confirmation]
    return {answer.item: answer for made in evaluations if made is not None for answer in made.answers}


def _drifted(
    baseline: Baseline, one: Evidence, decode: Decode | None, answered: Mapping[str, Answer], no_tokens: str
) -> tuple[tuple[DriftedText, ...], str]:
    if one.fidelity is None or not one.fidelity.texts:
        why = one.fidelity.missing if one.fidelity else ""
        return (), why or "no text was compared: it did not come to the gate of fidelity"
    if decode is None:
        return (), no_tokens
    own = {item: answer.text for item, answer in answered.items() if answer.text}
    return drift.worst(one.fidelity, baseline.texts, decode, own), ""


def _summaries(items: Sequence[GoldenItem], one: Evidence) -> dict[str, str]:
    """What scorers say on all scores of this candidate, over both splits."""
    scores: dict[str, Score] = {}
    for split in SPLITS:
        made: Evaluation | None = getattr(one, split)
        scores |= {score.item: score for score in made.scores} if made is not None else {}
    scored = [item for item in items if item.id in scores]
    return scoring.summaries(scored, [scores[item.id] for item in scored])


def _tokenizer(prepared: Prepared) -> tuple[LoadedTokenizer | None, str]:
    """The source model's tokenizer, or why it cannot be read (the model may be gone when a report is made again)."""
    path = prepared.artifact.path
    if not path.is_dir():
        return None, f"the model is no longer in {path}, and its tokenizer with it"
    try:
        return tokenizers.load(path), ""
    except UserError as error:
        return None, str(error)


def _prompt_tokens(tokens: LoadedTokenizer, items: Sequence[GoldenItem]) -> PromptTokens:
    """Items whose conversation the template refuses are left out: they were not asked either."""
    found = {}
    for item in items:
        plain = [message.plain for message in item.messages]
        try:
            found[item.id] = len(tokens.encode_conversation(plain)) if plain else 0
        except UserError:
            continue
    return PromptTokens({name: count for name, count in found.items() if count})
