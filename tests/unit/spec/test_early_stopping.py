"""The setting that turns early stopping off."""

from paredown.spec.load import from_flags


def test_early_stopping_is_on_unless_it_is_turned_off_and_belongs_to_what_is_decided() -> None:
    usual, off = from_flags("demo", None, {}), from_flags("demo", None, {"early_stopping": False})
    assert usual.early_stopping
    assert not off.early_stopping
    assert usual.digest() != off.digest()
