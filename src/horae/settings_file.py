"""The file with settings: `horae.toml`, or the table `[tool.horae]` of `pyproject.toml`.

`HORAE_CONFIG` names one. Otherwise it is looked for in the working directory and its parents up to
the root of the repository, and outside a repository only in the working directory: a file that
somebody else has put into `/tmp` must not decide which code is run.
"""

import os
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from horae.errors import ConfigurationError
from horae.quoting import did_you_mean, quoted

FILE_VARIABLE: Final = "HORAE_CONFIG"
OWN_FILE: Final = "horae.toml"
PROJECT_FILE: Final = "pyproject.toml"
APP: Final = "app"
"""The key that names the application, which is for the command line and no setting of it."""

_HEADER: Final = b"[tool.horae"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What a file says: its settings by name, and the applications that it names.

    `folder`: where relative paths in it begin; None for the working directory.
    """

    path: Path
    settings: dict[str, Any]
    apps: tuple[str, ...] = ()
    folder: Path | None = None

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Raise `ConfigurationError` for settings that do not exist."""
        problems = [
            unknown_setting(name, [APP, *known]) for name in self.settings if name not in known
        ]
        if problems:
            raise ConfigurationError(f"{self.path}: {'; '.join(problems)}")


def unknown_setting(name: str, known: Collection[str]) -> str:
    """Return the text about a setting that does not exist; all names only if none is similar."""
    meant = did_you_mean(name, known) or f"; expected one of {', '.join(known)}"
    return f"{name}: unknown setting{meant}"


def find_settings_file() -> SettingsFile | None:
    """Read the file with settings, if there is one.

    Raises `ConfigurationError` for a file that `HORAE_CONFIG` names and that is missing, and for
    one that cannot be read.
    """
    named = os.environ.get(FILE_VARIABLE)
    if named is None:
        return next(filter(None, map(_found_in, _folders())), None)
    path = Path(named)
    if not path.is_file():
        raise ConfigurationError(f"{FILE_VARIABLE}: file {named!r} does not exist")
    origin = f"{FILE_VARIABLE}: {named!r}"
    content = _parse(path.read_bytes(), origin)
    if path.name == PROJECT_FILE:
        content = _table(content, origin) or {}
    return _settings_file(path, content, origin)


def _folders() -> Iterator[Path]:
    here = Path.cwd()
    folders = (here, *here.parents)
    root = next((folder for folder in folders if (folder / ".git").exists()), here)
    for folder in folders:
        yield folder
        if folder == root:
            return


def _found_in(folder: Path) -> SettingsFile | None:
    own, project = folder / OWN_FILE, folder / PROJECT_FILE
    if own.is_file():
        return _settings_file(own, _parse(_read(own), str(own)), str(own), folder)
    # A file without the table may be in any state, and parsing it would cost milliseconds.
    if not project.is_file() or _HEADER not in (text := _read(project)):
        return None
    table = _table(_parse(text, str(project)), str(project))
    return None if table is None else _settings_file(project, table, str(project), folder)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(text: bytes, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{origin} is not valid TOML: {error}") from error


def _table(content: dict[str, Any], origin: str) -> dict[str, Any] | None:
    tools = content.get("tool", {})
    table = tools.get("horae") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(f"{origin}: tool.horae: expected a table of settings")
    return table


def _settings_file(
    path: Path, content: dict[str, Any], origin: str, folder: Path | None = None
) -> SettingsFile:
    """Take the applications out, which are no settings."""
    given = dict(content)
    named = given.pop(APP, ())
    apps = (named,) if isinstance(named, str) else named
    if not (isinstance(apps, tuple | list) and all(isinstance(app, str) and app for app in apps)):
        raise ConfigurationError(
            f"{origin}: {APP}: {quoted(named)} is not allowed: expected module:attribute, such as"
            ' "app:horae", or a list of them'
        )
    return SettingsFile(path, given, tuple(apps), folder)
