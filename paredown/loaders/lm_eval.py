"""Golden items from a task of lm-evaluation-harness, through that library.

`lm_eval:TASK` or `lm_eval:TASK:limit=100,fewshot=5,metric=acc_norm,include_path=DIR`; a group gives one slice a task.
limit: first documents only · fewshot: examples in the prompt, in place of the task's own number · metric: `acc` (the
default: log-probability), `acc_norm` (÷ characters) or `acc_bytes` (÷ bytes) · include_path: a directory with task
files, in place of those that come with the library.

The requests are those that the library itself builds (few-shot examples drawn with its seed 1234), so that scores are
its own: the prompt is plain text without the chat template, as in a plain `lm_eval run`.

| output type             | item                                                                                   |
|-------------------------|----------------------------------------------------------------------------------------|
| `multiple_choice`       | `likelihood`, `arguments.raw`                                                           |
| `loglikelihood_rolling` | `perplexity` of the text, from its second token on (the library also scores the first)  |
| others                  | refused by name: their answers go through filters and metrics of the library's own      |

A task may bring Python functions of its own, in its directory: they run as they do in lm_eval.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from paredown.contracts import Loader, Needs, RawRow
from paredown.errors import MissingPackageError, UnknownNameError, UserError, first_line

PREFIX = "lm_eval:"
INSTALL = "pip install 'paredown[lm-eval]'"
METRICS = {"acc": "none", "acc_norm": "characters", "acc_bytes": "bytes"}
OPTIONS = ("fewshot", "include_path", "limit", "metric")
FEWSHOT_SEED = 1234
"""lm_eval's own default."""


@dataclass(frozen=True)
class _Asked:
    task: str
    include_path: str = ""
    limit: int | None = None
    fewshot: int | None = None
    metric: str = "acc"


def claims(source: str) -> bool:
    return source.startswith(PREFIX)


def load(source: str) -> Iterator[RawRow]:
    """One row a document; `where` is `lm_eval:TASK:number`. Raises MissingPackageError or UserError."""
    asked = _asked(source)
    try:
        from lm_eval.tasks import TaskManager
    except ImportError as error:
        raise MissingPackageError(f"The golden set {source}", "lm_eval", INSTALL) from error
    for name, task in _tasks(TaskManager, asked).items():
        yield from _rows(name, task, asked)


def _asked(source: str) -> _Asked:
    name, _, rest = source.removeprefix(PREFIX).partition(":")
    if not name:
        raise UserError(f"{source!r} names no task. Write lm_eval:TASK, for example lm_eval:arc_easy:limit=100.")
    found: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if key not in OPTIONS:
            raise UnknownNameError(f"option of {PREFIX}{name}", key, OPTIONS)
        if not equals or not value:
            raise UserError(f"{source!r}: {key} has no value. Write {key}=….")
        found[key] = value
    metric = found.get("metric", "acc")
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    folder = found.get("include_path", "")
    if folder and not Path(folder).is_dir():
        raise UserError(f"{source!r}: include_path={folder} is no directory. Give the one that holds the task's file.")
    return _Asked(name, folder, _number(found, "limit", source, 1), _number(found, "fewshot", source, 0), metric)


def _number(found: dict[str, str], key: str, source: str, least: int) -> int | None:
    if key not in found:
        return None
    value = found[key]
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        raise UserError(f"{source!r}: {key} is {value!r}; expected a whole number from {least} on.")
    return int(value)


def _tasks(manager: Any, asked: _Asked) -> dict[str, Any]:
    """The tasks that the name stands for, by their own names, in order. Raises UserError."""
    path = asked.include_path or None
    try:
        known = manager(include_path=path, include_defaults=path is None)
    except Exception as error:  # whatever the library makes of a task file, the file is the reason
        raise UserError(f"lm_eval cannot read its task files: {first_line(error)}.") from error
    if asked.task not in known.all_tasks:
        raise UnknownNameError("task of lm_eval", asked.task, _near(asked.task, known.all_tasks))
    try:
        tasks: dict[str, Any] = known.load(asked.task)["tasks"]
    except Exception as error:  # no network, no such data set, a broken file: the library raises what it likes
        raise UserError(
            f"lm_eval cannot load the task {asked.task!r}: {first_line(error)}. Check its data set and the network, "
            "or give a task over local files with include_path=DIR."
        ) from error
    return tasks


def _near(name: str, known: Sequence[str]) -> Sequence[str]:
    """A few of thousands of names, the nearest ones."""
    return difflib.get_close_matches(name, known, n=10, cutoff=0.5) or sorted(known)[:10]


def _rows(name: str, task: Any, asked: _Asked) -> Iterator[RawRow]:
    kind = str(task.OUTPUT_TYPE)
    _refuse_unlike(name, task, kind)
    if asked.fewshot is not None:
        task.set_config(key="num_fewshot", value=asked.fewshot)
    task.set_fewshot_seed(seed=FEWSHOT_SEED)
    try:
        task.build_all_requests(limit=asked.limit, rank=0, world_size=1)
    except Exception as error:  # templates and functions of the task's own
        raise UserError(f"lm_eval cannot build the prompts of {name!r}: {first_line(error)}.") from error
    by_document: dict[int, list[Any]] = {}
    for request in task.instances:
        by_document.setdefault(int(request.doc_id), []).append(request)
    for number, requests in by_document.items():
        where = f"{PREFIX}{name}:{number}"
        fields = _choice(task, requests, asked, where) if kind == "multiple_choice" else _text(requests)
        common = {
            "id": f"{name}/{number}",
            "slice": re.sub(r"[^\w.-]", "_", name)[:64],
            "tags": {"benchmark": "lm_eval", "task": name, "version": str(task.VERSION)},
        }
        yield RawRow({**common, **fields}, where)


def _refuse_unlike(name: str, task: Any, kind: str) -> None:
    """Raises UserError for a task whose scores would not be lm_eval's own."""
    if kind not in ("multiple_choice", "loglikelihood_rolling"):
        _refuse(name, f"has the output type {kind!r}, whose answers go through filters and metrics of lm_eval's own")
    if getattr(task, "MULTIMODAL", False):
        _refuse(name, "asks with images or sound")
    if callable(getattr(task.config, "process_results", None)):
        _refuse(name, "computes its scores in a function of its own (process_results)")


def _refuse(name: str, why: str) -> NoReturn:
    raise UserError(
        f"The task {name!r} of lm_eval {why}. Taken are multiple_choice and loglikelihood_rolling tasks; write others "
        "as JSONL with one of paredown's scorers."
    )


def _choice(task: Any, requests: Sequence[Any], asked: _Asked, where: str) -> dict[str, object]:
    """A likelihood item from the requests of one document.

    White space between prompt and choice stands at the end of the prompt, where it is encoded with the choice: then
    `choices` are the document's own, whose length acc_norm and acc_bytes divide by.
    """
    document = requests[0].doc
    choices = list(task.doc_to_choice(document))
    pairs = [request.args for request in sorted(requests, key=lambda one: one.idx)][: len(choices)]
    contexts = {context for context, _ in pairs}
    if len(contexts) != 1 or not all(pair[1].endswith(choice) for pair, choice in zip(pairs, choices, strict=True)):
        raise UserError(f"{where}: the choices stand in the prompts, not after one prompt; such tasks are not taken.")
    (context,) = contexts
    delimiter = pairs[0][1].removesuffix(choices[0])
    if delimiter.strip() and asked.metric != "acc":
        raise UserError(
            f"{where}: {delimiter!r} stands before the choices; only metric=acc can be computed as lm_eval."
        )
    gold = task.doc_to_target(document)
    if isinstance(gold, str) and gold in choices:
        gold = choices.index(gold)
    if delimiter.strip():
        choices = [continuation for _, continuation in pairs]
    else:
        context += delimiter
    if not isinstance(gold, int) or not 0 <= gold < len(choices):
        raise UserError(f"{where}: the target is {gold!r}; expected one of the choices.")
    return {
        "scorer": "likelihood",
        "messages": [{"role": "user", "content": context}],
        "choices": choices,
        "answer": str(int(gold)),
        "arguments": {"raw": True, "normalize": METRICS[asked.metric]},
    }


def _text(requests: Sequence[Any]) -> dict[str, object]:
    return {"scorer": "perplexity", "text": requests[0].args[0]}


LOADER = Loader(
    name="lm_eval",
    summary="a task of lm-evaluation-harness (lm_eval:TASK:limit=N,fewshot=K,include_path=DIR)",
    claims=claims,
    load=load,
    needs=Needs(packages=("lm_eval",), extra="lm-eval"),
)
