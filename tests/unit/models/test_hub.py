"""Hub ids with a client that is scripted: no network."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paredown.errors import UserError
from paredown.models import hub

huggingface_hub = pytest.importorskip("huggingface_hub")


def silent(fraction: float, what: str) -> None:
    return None


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Replaces the client's two calls; returns the list of what `snapshot_download` was asked."""

    def script(info: Any, snapshot: Any) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def model_info(name: str, **_: object) -> Any:
            if isinstance(info, Exception):
                raise info
            return types.SimpleNamespace(siblings=[types.SimpleNamespace(rfilename=file) for file in info])

        def snapshot_download(name: str, **options: Any) -> str:
            asked.append(options)
            if isinstance(snapshot, Exception):
                raise snapshot
            return str(snapshot)

        monkeypatch.setattr(huggingface_hub, "model_info", model_info)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        return asked

    return script


def test_without_network_the_sentence_says_so_and_what_to_do(scripted: Any) -> None:
    scripted(ConnectionError("Name or service not known"), FileNotFoundError("no cached snapshot"))

    with pytest.raises(UserError, match=r"Cannot reach the hub for 'x/y' .* give a local directory"):
        hub.downloaded("x/y", allow_pickle=False, on_progress=silent)


def test_without_network_a_copy_downloaded_before_is_used(scripted: Any, tmp_path: Path) -> None:
    asked = scripted(ConnectionError("offline"), tmp_path)

    assert hub.downloaded("x/y", allow_pickle=False, on_progress=silent) == tmp_path
    assert asked[0]["local_files_only"] is True


def test_pickle_files_are_never_asked_for(scripted: Any, tmp_path: Path) -> None:
    asked = scripted(["config.json", "model.safetensors", "pytorch_model.bin"], tmp_path)

    hub.downloaded("x/y", allow_pickle=False, on_progress=silent)

    assert not any("bin" in pattern for pattern in asked[0]["allow_patterns"])


def test_a_model_with_pickle_weights_only_is_refused_before_the_download(scripted: Any, tmp_path: Path) -> None:
    asked = scripted(["config.json", "pytorch_model.bin"], tmp_path)

    with pytest.raises(UserError, match="only pickle weights"):
        hub.downloaded("x/y", allow_pickle=False, on_progress=silent)
    assert asked == []


def test_an_error_that_is_not_the_networks_is_not_hidden(scripted: Any) -> None:
    scripted(KeyError("a bug"), None)

    with pytest.raises(KeyError):
        hub.downloaded("x/y", allow_pickle=False, on_progress=silent)
