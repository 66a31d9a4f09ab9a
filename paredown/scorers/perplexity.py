"""How likely the model finds a given text: exp of the mean log-probability of its tokens, 1 ÷ perplexity.

The text is the item's one choice: a reference answer after a conversation (`{"prompt": …, "answer": …}`), every token
of which counts; or a text that stands by itself (`{"text": …}`), which counts from its second token on.

    score = exp((1 / n) · Σ_i log p(token_i | what stands before))         1 = every token was certain

What a drop means: the score is the geometric mean of the tokens' probabilities, so 0.20 is a perplexity of 5. From
there a drop of 1 point (to 0.19) is a perplexity of 5.26, from 0.50 it is 2.04 instead of 2.00: a margin in points is
stricter, in perplexity, on text that the model finds hard. The mean over items is a mean of these scores, not the
inverse of the perplexity of all texts joined; differences of log-perplexity, token by token, are in the part
"fidelity". A token is one of the model's own tokenizer: two models with other tokenizers cannot be compared by it.
A text longer than the context is not scored (and never cut): give it as several items with one `cluster`.
"""

from __future__ import annotations

import math

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    if len(answer.choice_logprobs) != 1 or len(answer.choice_tokens) != 1:
        return Score(item.id, None, f"{len(answer.choice_logprobs)} log-probabilities instead of one")
    (total,), (tokens,) = answer.choice_logprobs, answer.choice_tokens
    if not math.isfinite(total) or tokens < 1:
        return Score(item.id, None, f"a log-probability of {total!r} over {tokens} tokens says nothing")
    mean = min(0.0, total / tokens)  # above 0 only by rounding
    return Score(item.id, math.exp(mean), details={"perplexity": math.exp(min(-mean, 700.0)), "tokens": tokens})


def chance(_: GoldenItem) -> float | None:
    """Unknown: 1 ÷ the size of the vocabulary, which an item does not know."""
    return None


def check(item: GoldenItem) -> None:
    if len(item.choices) != 1:
        raise ValueError(f"field 'choices' has {len(item.choices)} entries; expected one, the text that is scored")
    if not item.choices[0].strip():
        raise ValueError("field 'choices' has an empty text; expected the text that is scored")
    if item.answer != "0":
        raise ValueError(f"field 'answer' is {item.answer!r}; expected '0', the number of the one choice")
    _text.refuse_other_arguments(item, ("raw",))
    if item.zero_tolerance:
        raise ValueError("field 'zero_tolerance' is true; expected false, as this score changes with any rounding")


SCORER = Scorer(
    name="perplexity",
    summary="1 ÷ perplexity of a given text or reference answer (a drop of 1 point at 0.20: perplexity 5 → 5.26)",
    version=1,
    likelihood=True,
    needs=ScoringLevel.TARGET_ONLY,
    score=score,
    chance=chance,
    check=check,
    one_text=True,
)
