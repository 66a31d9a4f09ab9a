"""lm-evaluation-harness as a source, with a stand-in of its task manager; tests/real has the library itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from paredown.errors import MissingPackageError, UnknownNameError, UserError
from paredown.loaders.lm_eval import LOADER


@dataclass
class Task:
    """As much of a task as the loader asks of it. Each document: prompt, choices, target."""

    documents: list[tuple[str, list[str], Any]] = field(default_factory=list)
    delimiter: str = " "
    contexts: list[str] | None = None
    OUTPUT_TYPE: str = "multiple_choice"
    MULTIMODAL: bool = False
    VERSION: str = "1"
    config: Any = field(default_factory=lambda: SimpleNamespace(process_results=None))
    settings: dict[str, Any] = field(default_factory=dict)
    instances: list[Any] = field(default_factory=list)

    def set_config(self, key: str, value: Any) -> None:
        self.settings[key] = value

    def set_fewshot_seed(self, seed: int) -> None:
        self.settings["seed"] = seed

    def build_all_requests(self, limit: int | None, rank: int, world_size: int) -> None:
        self.instances = []
        for number, document in enumerate(self.documents[:limit]):
            for index, choice in enumerate(document[1]):
                context = self.contexts[index] if self.contexts else document[0]
                arguments = (
                    (context, f"{self.delimiter}{choice}") if self.OUTPUT_TYPE != "loglikelihood_rolling" else (choice,)
                )
                self.instances.append(SimpleNamespace(doc_id=number, doc=document, idx=index, args=arguments))

    def doc_to_choice(self, document: tuple[str, list[str], Any]) -> list[str]:
        return document[1]

    def doc_to_target(self, document: tuple[str, list[str], Any]) -> Any:
        return document[2]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Task]:
    """Tasks by name; `broken` cannot be loaded."""
    tasks: dict[str, Task] = {
        "sky": Task([("Q: Sky?\nA:", ["red", "blue"], 1), ("Q: Sea?\nA:", ["blue", "red"], "red")])
    }

    class Manager:
        def __init__(self, **_: object) -> None:
            self.all_tasks = [*tasks, "broken"]

        def load(self, name: str) -> dict[str, dict[str, Task]]:
            if name == "broken":
                raise ConnectionError("Couldn't reach the hub.\nlong trace")
            return {"tasks": {name: tasks[name]}}

    inner = ModuleType("lm_eval.tasks")
    inner.TaskManager = Manager  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lm_eval", ModuleType("lm_eval"))
    monkeypatch.setitem(sys.modules, "lm_eval.tasks", inner)
    return tasks


def rows(source: str) -> list[dict[str, Any]]:
    return [dict(row.fields) for row in LOADER.load(source)]


def test_a_missing_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'paredown\[lm-eval\]'"):
        rows("lm_eval:arc_easy")


def test_the_space_before_a_choice_ends_the_prompt_so_that_choices_have_their_own_length(
    library: dict[str, Task],
) -> None:
    first, second = rows("lm_eval:sky:metric=acc_norm")
    assert first["messages"] == [{"role": "user", "content": "Q: Sky?\nA: "}]
    assert (first["choices"], first["answer"], first["id"]) == (["red", "blue"], "1", "sky/0")
    assert first["arguments"] == {"raw": True, "normalize": "characters"}
    assert second["answer"] == "1"


def test_a_delimiter_that_is_more_than_space_stays_with_the_choices(library: dict[str, Task]) -> None:
    library["sky"].delimiter = " ("
    assert rows("lm_eval:sky:limit=1")[0]["choices"] == [" (red", " (blue"]
    with pytest.raises(UserError, match="only metric=acc"):
        rows("lm_eval:sky:limit=1,metric=acc_norm")


def test_limit_and_examples_reach_the_library(library: dict[str, Task]) -> None:
    assert len(rows("lm_eval:sky:limit=1,fewshot=5")) == 1
    assert library["sky"].settings == {"num_fewshot": 5, "seed": 1234}


def test_a_rolling_task_gives_texts(library: dict[str, Task]) -> None:
    library["text"] = Task([("", ["A whole text."], None)], OUTPUT_TYPE="loglikelihood_rolling")
    (row,) = rows("lm_eval:text")
    assert (row["scorer"], row["text"]) == ("perplexity", "A whole text.")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"OUTPUT_TYPE": "generate_until"}, "has the output type 'generate_until'"),
        ({"OUTPUT_TYPE": "loglikelihood"}, "has the output type 'loglikelihood'"),
        ({"MULTIMODAL": True}, "images or sound"),
        ({"config": SimpleNamespace(process_results=len)}, "process_results"),
        ({"contexts": ["A:", "B:"]}, "lm_eval:sky:0: the choices stand in the prompts"),
        ({"documents": [("Q:", ["a", "b"], [0, 1])]}, r"lm_eval:sky:0: the target is \[0, 1\]"),
        ({"documents": [("Q:", ["a", "b"], 2)]}, "the target is 2"),
    ],
)
def test_tasks_whose_scores_would_not_be_the_librarys_own_are_refused_by_name(
    library: dict[str, Task], change: dict[str, Any], says: str
) -> None:
    for name, value in change.items():
        setattr(library["sky"], name, value)
    with pytest.raises(UserError, match=says):
        rows("lm_eval:sky")


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        ("lm_eval:", UserError, "names no task"),
        ("lm_eval:skye", UnknownNameError, "Did you mean 'sky'"),
        ("lm_eval:sky:shots=5", UnknownNameError, "Known: fewshot, include_path, limit, metric"),
        ("lm_eval:sky:limit=0", UserError, "limit is '0'; expected a whole number from 1 on"),
        ("lm_eval:sky:limit", UserError, "limit has no value"),
        ("lm_eval:sky:metric=f1", UnknownNameError, "acc_norm"),
        ("lm_eval:sky:include_path=/no/such", UserError, "is no directory"),
        ("lm_eval:broken", UserError, "cannot load the task 'broken': Couldn't reach the hub. Check"),
    ],
)
def test_wrong_sources_say_what_to_type(
    library: dict[str, Task], source: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        rows(source)
