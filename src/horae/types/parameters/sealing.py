"""Encrypts secret parameters before they are stored, with keys that only the application has.

A sealed value is stored as `{"$sealed": "…"}`, a token of Fernet (AES and an HMAC). With several
keys the first one seals and each of them opens, so that a key can be replaced while jobs wait.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from typing_extensions import override

from horae.errors import HoraeError
from horae.optional_packages import packages_required

SEALED: Final = "$sealed"
"""The key of the object that stands for a sealed value, with its token as the value."""


class SecretNotOpened(HoraeError):
    """A secret parameter cannot be decrypted here: none of the keys has sealed it."""


class Sealer:
    """Seals values with the first key, and opens what any of the keys has sealed."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Raise `ConfigurationError` if the library that encrypts is not installed."""
        with packages_required(
            {"cryptography"},
            "secret_keys (HORAE_SECRET_KEYS) needs a library that encrypts: pip install"
            " 'horae[crypto]'",
        ):
            from cryptography.fernet import Fernet, MultiFernet
        self._keys = tuple(keys)
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a child process makes it again; the keys go through its pipe."""
        return Sealer, (self._keys,)

    def seal(self, value: Any) -> Any:
        """Return what is stored in place of a secret JSON value."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return {SEALED: self._fernet.encrypt(text.encode()).decode()}

    def open(self, token: str) -> Any:
        """Return the value of a token. Raises `SecretNotOpened`."""
        from cryptography.fernet import InvalidToken

        try:
            return json.loads(self._fernet.decrypt(token))
        except InvalidToken:
            raise SecretNotOpened(
                "a secret parameter was sealed with a key that is not among the secret_keys"
                " (HORAE_SECRET_KEYS) of this process"
            ) from None


def sealer_of(keys: Iterable[str]) -> Sealer | None:
    """Return what seals with these keys; None without keys, when secrets are stored as they are."""
    given = tuple(keys)
    return Sealer(given) if given else None


def open_value(sealer: Sealer | None, stored: Any) -> Any:
    """Return a stored secret value as it was given; one that is not sealed is returned unchanged.

    Raises `SecretNotOpened`.
    """
    if not isinstance(stored, dict) or stored.keys() != {SEALED}:
        return stored
    if sealer is None:
        raise SecretNotOpened(
            "a secret parameter is sealed, and this process has no secret_keys (HORAE_SECRET_KEYS)"
        )
    return sealer.open(str(stored[SEALED]))
