"""What a directory must be before it is taken as a source model; each failure is one sentence with what to do."""

from __future__ import annotations

from pathlib import Path

from paredown.errors import UserError
from paredown.models import configuration, formats, safetensors_header

PICKLE_PATTERNS = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def check_source(directory: Path, *, trust_remote_code: bool) -> None:
    """Raises UserError unless the directory holds a complete 16- or 32-bit model with tokenizer and chat template.

    Weight files are checked by their headers and lengths only: nothing is loaded, and it takes milliseconds.
    """
    check_directory(directory)
    check_code(directory, trust_remote_code=trust_remote_code)
    check_not_quantized(directory)
    check_weights(directory)
    check_text_side(directory)


def check_directory(directory: Path) -> None:
    """A readable directory with a readable config.json."""
    try:
        is_empty = not any(directory.iterdir())
    except OSError as error:
        raise UserError(f"{directory} cannot be read ({error.strerror}). Check its permissions.") from error
    if is_empty:
        raise UserError(
            f"{directory} is empty. Give the directory of a Hugging Face model (config.json, *.safetensors)."
        )
    if not configuration.is_there(directory):
        gguf = sorted(directory.glob("*.gguf"))
        hint = f"It holds {gguf[0].name}, a GGUF file, which is not a source format here. " if gguf else ""
        raise UserError(
            f"{directory} has no config.json. {hint}Give the directory of a Hugging Face model "
            "(config.json, *.safetensors, tokenizer files)."
        )
    configuration.read(directory)


def check_code(directory: Path, *, trust_remote_code: bool) -> None:
    """No code of the model's own, unless it was asked for."""
    named = configuration.custom_code(directory)
    if named and not trust_remote_code:
        raise UserError(
            f"{directory} brings Python code of its own ({', '.join(named)} has auto_map), which would run with your "
            "rights. Add --trust-remote-code if you have read it and trust it."
        )


def check_weights(directory: Path) -> None:
    """Plain weights, whole and undamaged."""
    for name in formats.names():
        found = formats.load(name)
        if found.is_source and found.recognises(directory):
            if not found.read(directory):
                raise UserError(f"The weight files of {directory} hold no tensors. Copy or download the model again.")
            return
    # An index whose files are all missing says more than "no weights".
    safetensors_header.files(directory)
    pickles = pickle_files(directory)
    if pickles:
        raise UserError(
            f"{directory} has only pickle weights ({pickles[0].name}), which can run code when they are opened. Use a "
            "version with *.safetensors, or add --allow-pickle: they are then opened once, tensors only, and converted."
        )
    raise UserError(f"{directory} has config.json but no weights (*.safetensors). Copy or download it again.")


def check_not_quantized(directory: Path) -> None:
    """Plain weights: what is already quantized cannot be the reference for quality."""
    method = configuration.quantization(directory)
    if method:
        raise UserError(
            f"{directory} is already quantized ({method}). Give the 16- or 32-bit model that it was made from."
        )


def check_text_side(directory: Path) -> None:
    """Tokenizer and chat template."""
    if not configuration.has_tokenizer(directory):
        raise UserError(
            f"{directory} has no tokenizer (looked for {', '.join(configuration.TOKENIZER_FILES[:3])} …). "
            "Copy the tokenizer files of the model into it."
        )
    if not configuration.has_chat_template(directory):
        raise UserError(
            f"{directory} has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json), so "
            "prompts cannot be put as the model expects. Use the instruction-tuned version, or copy a "
            "chat_template.jinja into it."
        )


def pickle_files(directory: Path) -> tuple[Path, ...]:
    return tuple(sorted({file for pattern in PICKLE_PATTERNS for file in directory.glob(pattern)}))
