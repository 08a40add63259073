"""Keeps large parameters and results in a store of files, and references to them in the rows.

A reference is `{"$stored": KEY, "size": BYTES, "sha256": HASH}`. A value is written before the
transaction that refers to it commits, under a key of its own, and is never changed. What no row
refers to is deleted once it is old enough. A value is only given out if it has the hash of its
reference, so that nobody reads a foreign value by its key.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeGuard
from uuid import uuid4

from typing_extensions import override

from horae.errors import ConfigurationError, HoraeError, Unavailable
from horae.guarded_log import guarded_log
from horae.optional_packages import packages_required

STORED: Final = "$stored"
"""The key of the object that refers to a stored value, with the key of the value."""
REFERENCE: Final = frozenset({STORED, "size", "sha256"})
KEY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9a-f]{32}")
"""The date of the write, by which old values are found, and a random name."""
IN_TEXT: Final = re.compile(rf'"\{STORED}" ?: ?"({KEY.pattern})"')
KEPT_FOR: Final = timedelta(days=2)
"""How long a value without a reference is kept; its transaction may be committed until then."""
TRIES: Final = 3
"""How often a value is read that is not the one that was stored: an answer may be cut short."""
log = guarded_log("horae.large_values")
_ABSOLUTE: Final = re.compile(r"[/\\~]|[A-Za-z]:")


class LargeValuesUnavailable(Unavailable):
    """The store of large values does not answer; nothing was started, and nothing is lost."""


class LargeValueMissing(HoraeError):
    """A large value is not in the store any more, or is another one."""


class LargeValues:
    """A store of files, by a URL of fsspec, for values of more than `over` bytes."""

    def __init__(self, url: str, over: int) -> None:
        """Raise `ConfigurationError` if fsspec, or what it needs for this URL, is not installed."""
        with packages_required(
            {"fsspec"},
            "large_values (HORAE_LARGE_VALUES) needs a library: pip install 'horae[files]'",
        ):
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
            from fsspec.implementations.local import (  # type: ignore[import-untyped]
                LocalFileSystem,
            )
        try:
            found: tuple[Any, str] = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigurationError(f"large_values (HORAE_LARGE_VALUES): {error}") from error
        self.over, self._url = over, url
        self._files, root = found
        self._root = root.rstrip("/")
        self._is_local = isinstance(self._files, LocalFileSystem)
        if self._is_local and _ABSOLUTE.match(url.rpartition("://")[2]) is None:
            raise ConfigurationError(
                "large_values (HORAE_LARGE_VALUES) is a relative path, which is another folder in"
                " each process; write file:///mnt/shared/jobs"
            )

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a child process makes it again."""
        return LargeValues, (self._url, self.over)

    def put(self, text: str) -> dict[str, Any]:
        """Store a JSON text, and return its reference. Raises `LargeValuesUnavailable`."""
        data = text.encode()
        today = datetime.now(UTC).date()  # noqa: TID251 - it only orders the files
        key = f"{today.isoformat()}/{uuid4().hex}"
        path = f"{self._root}/{key}"
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            if self._is_local:
                self._write(path, data)
            else:
                self._files.pipe_file(path, data)
        except Exception as error:
            raise self._away(error) from error
        return {STORED: key, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def _write(self, path: str, data: bytes) -> None:
        """Write a file to a local disk; on a full one nothing of it stays."""
        try:
            with self._files.open(path, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # before the commit of what refers to it
        except OSError:
            with suppress(OSError):
                self._files.rm_file(path)
            raise

    def get(self, reference: dict[str, Any]) -> str:
        """Return the text of a reference.

        Raises `LargeValuesUnavailable` and `LargeValueMissing`.
        """
        key = str(reference[STORED])
        if KEY.fullmatch(key) is None:
            raise LargeValueMissing("a reference to a large value cannot be read")
        for _ in range(TRIES):
            data = self._read(key)
            if hashlib.sha256(data).hexdigest() == reference["sha256"]:
                return data.decode()
        raise LargeValueMissing(f"the large value {key} is not the one that was stored")

    def _read(self, key: str) -> bytes:
        try:
            data: bytes = self._files.cat_file(f"{self._root}/{key}")
        except FileNotFoundError:
            raise LargeValueMissing(
                f"the large value {key} is not in the store any more; was it deleted there, or do"
                " processes have different large_values (HORAE_LARGE_VALUES)?"
            ) from None
        except Exception as error:
            raise self._away(error) from error
        return data

    def delete(self, keys: Iterable[str]) -> None:
        """Delete values of deleted jobs; what cannot be deleted now is deleted as an orphan."""
        for key in keys:
            problem = "the large value %s stays until it is old: %s"
            with log.guard(problem, key), suppress(FileNotFoundError):
                self._files.rm_file(f"{self._root}/{key}")

    def written_before(self, moment: datetime) -> Iterator[list[str]]:
        """Yield the keys of values that were written before that day, for each day."""
        try:
            self._files.invalidate_cache()
            folders: Sequence[str] = self._files.ls(self._root, detail=False)
        except FileNotFoundError:
            return
        for folder in sorted(folders):
            name = folder.rstrip("/").rpartition("/")[2]
            with suppress(ValueError):  # something else is stored beside the values
                if date.fromisoformat(name) < moment.date():
                    paths: Sequence[str] = self._files.ls(folder, detail=False)
                    yield [f"{name}/{path.rpartition('/')[2]}" for path in paths]

    def replaced(self, text: str) -> str:
        """Return a JSON text, or the text of a reference to it if it is large.

        Raises `LargeValuesUnavailable`.
        """
        return json.dumps(self.put(text)) if len(text) > self.over else text

    def _away(self, error: Exception) -> LargeValuesUnavailable:
        # The text of an error may have the URL with its password; that of a number has not.
        number = error.errno if isinstance(error, OSError) else None
        reason = "" if number is None else f" ({os.strerror(number)})"
        return LargeValuesUnavailable(
            f"the store of large values cannot be used: {type(error).__name__}{reason}"
        )


def large_values_of(url: str | None, over: int) -> LargeValues | None:
    """Return the store of this URL; None without one, when all values are stored in the rows."""
    return None if url is None else LargeValues(url, over)


def keys_in(texts: Iterable[str]) -> set[str]:
    """Return all keys that these JSON texts contain, also those in values of the application."""
    return {key for text in texts for key in IN_TEXT.findall(text)}


def keys_of(params: str | None, result: str | None) -> set[str]:
    """Return the keys of a job's own values, by its parameters and its result as JSON text.

    A reference inside of a value was put there by the application, which may have copied it from
    another job, so its value does not belong to this job.
    """
    own: list[Any] = []
    with suppress(ValueError):
        own.append(json.loads(result or "null"))
    with suppress(ValueError):
        loaded = json.loads(params or "null")
        own += loaded.values() if isinstance(loaded, dict) else ()
    keys = {str(value[STORED]) for value in own if is_reference(value)}
    return {key for key in keys if KEY.fullmatch(key)}


def is_reference(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a JSON value refers to a stored one."""
    return isinstance(value, dict) and value.keys() == REFERENCE


def open_value(files: LargeValues | None, value: Any) -> Any:
    """Return a JSON value, or the value to which it refers.

    Raises `LargeValuesUnavailable` and `LargeValueMissing`.
    """
    return json.loads(_text_of(files, value)) if is_reference(value) else value


def open_text(files: LargeValues | None, text: str) -> str:
    """Return a JSON text, or the one to which it refers; see `open_value`."""
    if STORED not in text:
        return text
    value = json.loads(text)
    return _text_of(files, value) if is_reference(value) else text


def _text_of(files: LargeValues | None, reference: dict[str, Any]) -> str:
    if files is None:
        raise LargeValueMissing(
            "a large value is in a store, and this process has no large_values (HORAE_LARGE_VALUES)"
        )
    return files.get(reference)
