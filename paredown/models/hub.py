"""Models by hub id, through huggingface_hub's own client and cache; never pickle files unless asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paredown.errors import MissingPackageError, UserError, first_line

OnProgress = Callable[[float, str], None]
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "*.txt", "tokenizer.model", "*.spm", "spiece.model", "*.tiktoken")
PICKLE_PATTERNS = ("pytorch_model*.bin",)
CODE_PATTERNS = ("*.py",)


def downloaded(name: str, *, allow_pickle: bool, on_progress: OnProgress, near: str = "") -> Path:
    """The snapshot of `owner/name` in the hub's cache; without network the one that was downloaded before.

    near: a hint that is added when the model is not found
    Raises UserError when the hub cannot be reached, or does not have the model or does not give it.
    """
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError as error:
        raise MissingPackageError(
            f"Downloading {name!r}", "huggingface_hub", "pip install 'paredown[transformers]'"
        ) from error
    patterns = [*PATTERNS, *CODE_PATTERNS, *(PICKLE_PATTERNS if allow_pickle else ())]
    on_progress(0.0, f"downloading {name}")
    # A cache that is complete needs no network; the hub's client falls back to it by itself when it is offline.
    try:
        _refuse_pickle_only(huggingface_hub, name, allow_pickle=allow_pickle)
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=patterns))
    except errors.GatedRepoError as error:
        raise UserError(
            f"The hub gives {name!r} only to accounts that have accepted its terms. Accept them on its page, then log "
            "in: hf auth login."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"The hub has no model {name!r} (or it is private: hf auth login). Check its spelling, or give a local "
            f"directory.{near}"
        ) from error
    except UserError:
        raise
    except (OSError, errors.HfHubHTTPError, errors.OfflineModeIsEnabled, RuntimeError) as error:
        return _from_cache(huggingface_hub, name, patterns, near, error)
    except Exception as error:
        # The client's transport (httpx) has its own tree of errors and is not ours to import.
        if not type(error).__module__.startswith(("httpx", "httpcore")):
            raise
        return _from_cache(huggingface_hub, name, patterns, near, error)


def _refuse_pickle_only(client: Any, name: str, *, allow_pickle: bool) -> None:
    files = [sibling.rfilename for sibling in client.model_info(name, timeout=10).siblings or ()]
    has_weights = any(file.endswith(".safetensors") for file in files)
    if not has_weights and not allow_pickle and any(file.endswith((".bin", ".pt", ".pth")) for file in files):
        raise UserError(
            f"{name!r} has only pickle weights, which can run code when they are opened. Choose a model with "
            "*.safetensors, or add --allow-pickle."
        )


def _from_cache(client: Any, name: str, patterns: list[str], near: str, why: Exception) -> Path:
    try:
        cached = Path(client.snapshot_download(name, allow_patterns=patterns, local_files_only=True))
    except (OSError, ValueError, RuntimeError):
        raise UserError(
            f"Cannot reach the hub for {name!r} ({first_line(why)[:120]}), and no copy of it was downloaded before. "
            f"Connect to the network, or give a local directory.{near}"
        ) from why
    return cached
