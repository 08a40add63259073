"""The errors that logs and Sentry show in place of those of bodies."""

import pytest

from horae.types.logs import shown_error


@pytest.mark.parametrize(
    ("technical", "name", "text"),
    [
        ("ValueError: 7: not enough", "ValueError", "7: not enough"),
        ("ValueError", "ValueError", ""),
        ("killed by signal 9 (SIGKILL)", "AttemptFailed", "killed by signal 9 (SIGKILL)"),
        ("not ready: it hangs", "AttemptFailed", "not ready: it hangs"),
    ],
)
def test_no_text_is_lost(technical: str, name: str, text: str) -> None:
    error = shown_error(technical, "", None)
    assert (type(error).__name__, str(error)) == (name, text)
