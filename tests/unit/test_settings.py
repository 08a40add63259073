"""Settings: arguments before the environment before a file before defaults; an error names the setting, its value and what is allowed."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.settings import Settings, settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(f"HORAE_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HORAE_CONFIG", str(tmp_path / "horae.toml"))
    return tmp_path / "horae.toml"


def test_the_defaults() -> None:
    found = settings()
    assert (found.database, found.concurrency, found.queues, found.node_name) == (
        "sqlite:///horae.db",
        10,
        None,
        None,
    )
    assert (found.grace, found.keep, found.busy_timeout) == (
        timedelta(seconds=30),
        timedelta(days=30),
        timedelta(seconds=30),
    )
    assert (found.hints, found.log_format, found.log_level) == (True, "text", "info")


def test_the_nearer_setting_wins(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('concurrency = 1\nnode_name = "file"\nlog_level = "error"\n')
    monkeypatch.setenv("HORAE_CONCURRENCY", "2")
    monkeypatch.setenv("HORAE_NODE_NAME", "environment")
    found = settings(concurrency=3, node_name=None)
    assert (found.concurrency, found.node_name, found.log_level, found.log_format) == (
        3,
        "environment",
        "error",
        "text",
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("database", "postgresql://host/name", "postgresql://host/name"),
        ("concurrency", "10000", 10_000),
        ("queues", "a, b,c", ("a", "b", "c")),
        ("queues", "one", ("one",)),
        ("queues", " , ", None),
        ("grace", "0", timedelta(0)),
        ("grace", "PT1M30S", timedelta(seconds=90)),
        ("grace", "1m30s", timedelta(seconds=90)),
        ("keep", "86400", timedelta(days=1)),
        ("busy_timeout", "0.5", timedelta(milliseconds=500)),
        ("hints", "false", False),
        ("hints", "1", True),
        ("log_format", "json", "json"),
        ("log_level", "debug", "debug"),
    ],
)
def test_every_setting_has_its_variable(
    name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"HORAE_{name.upper()}", text)
    assert getattr(settings(), name) == value


def test_a_file_may_say_it_in_its_own_way(file: Path) -> None:
    file.write_text('queues = ["a", "b"]\ngrace = 5\nhints = false\n')
    found = settings()
    assert (found.queues, found.grace, found.hints) == (("a", "b"), timedelta(seconds=5), False)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("concurrency", 0, "greater than or equal to 1"),
        ("concurrency", 10_001, "less than or equal to 10000"),
        ("concurrency", "many", "valid integer"),
        ("grace", -1, "greater than or equal to 0 seconds"),
        ("keep", 0, "greater than 0 seconds"),
        ("keep", "999999999d", ": it is longer than 100 years"),
        ("busy_timeout", 0, "greater than 0 seconds"),
        ("hints", "perhaps", "valid boolean"),
        ("log_format", "xml", "'text' or 'json'"),
        ("grace", "soon", ": expected a duration such as 30s, 5m, 12h or 7d"),
        ("grace", "nan", ": expected a duration such as "),
        ("log_level", "verbose", "'debug', 'info', 'warning' or 'error'"),
        ("queues", 7, "valid tuple"),
        ("module", "a\nb", "expected printable characters"),
        ("module", "x" * 201, "at most 200 characters"),
    ],
)
def test_a_value_that_is_not_allowed(
    name: str, value: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = (
        f"{value} s"
        if name in {"grace", "keep", "busy_timeout"} and not isinstance(value, str)
        else quoted(value)
    )
    start = f"{name} (HORAE_{name.upper()}): {shown} is not allowed: "
    with pytest.raises(ConfigurationError) as caught:
        settings(**{name: value})
    assert str(caught.value).startswith(start)
    assert problem in str(caught.value)
    if name != "queues":
        monkeypatch.setenv(f"HORAE_{name.upper()}", str(value))
        with pytest.raises(ConfigurationError, match=problem):
            settings()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://:secret@host", "its scheme is 'http'; expected redis://"),
        ("redis:secret", "it has no host; expected redis://"),
        ("secret", "no scheme; expected redis://"),
        ("", "no scheme; expected redis://"),
        ("redis://", "it has no host; expected redis://"),
        ("redis://:secret@", "it has no host; expected redis://"),
        ("redis://:secret@host:port", "it is not a URL; expected redis://"),
        ("redis://:secret@host:99999", "it is not a URL; expected redis://"),
        ("redis://:secret@host/first", "its path is no database number"),
        ("redis://:secret@host/0/1", "its path is no database number"),
        (
            "redis://:secret@host/0?socket_timeout=60",
            "unknown option 'socket_timeout'; there are db, ",
        ),
        ("redis://:secret@host?db=1&retry=3", "unknown option 'retry'"),
        ("unix://", "it has no absolute path"),
        ("unix://relative/secret", "it has no absolute path"),
    ],
)
@pytest.mark.parametrize("name", ["redis", "redis_live", "redis_hints"])
def test_a_redis_url_that_is_not_allowed_is_not_repeated(name: str, url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings(**{name: url})
    text = str(caught.value)
    assert text.startswith(f"{name} (HORAE_{name.upper()}): the value is not allowed: {problem}")
    assert problem in text
    assert "secret" not in text


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "redis://u:hunter2@h:1/15",
        "redis://h?password=hunter2",
        "rediss://h?ssl_ca_certs=/ca",
        "unix:///s?db=1",
        "redis://[::1]/",
    ],
)
def test_a_redis_url_is_kept_and_not_shown(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_REDIS", url)
    found = settings()
    assert found.redis is not None
    assert (found.redis.get_secret_value(), found.redis_live, found.redis_hints) == (
        url,
        None,
        None,
    )
    assert "hunter2" not in repr(found)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"concurrency .*; hints .*"):
        settings(concurrency=0, hints="perhaps")


def test_an_unknown_setting_is_refused_with_those_there_are(file: Path) -> None:
    expected = "verbosity: unknown setting; expected one of .*database, .*concurrency, "
    file.write_text("concurrency = 3\n")
    with pytest.raises(ConfigurationError, match=expected):
        settings(verbosity=3)
    file.write_text("verbosity = 3\n")
    with pytest.raises(ConfigurationError, match=expected):
        settings()


def test_a_similar_name_is_all_that_an_unknown_setting_needs() -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings(keeep="7d")
    assert str(refused.value) == "keeep: unknown setting; did you mean 'keep'?"


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"HORAE_CONFIG: file '{file}' does not exist"):
        settings()


@pytest.mark.parametrize("text", [b"concurrency = \n", b"concurrency: 3\n", b"\x00", b"a = '\xff'"])
def test_a_file_that_cannot_be_read(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    with pytest.raises(ConfigurationError, match=f"HORAE_CONFIG: '{file}' is not valid TOML: "):
        settings()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in whose folder `src/shop` the program runs."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "src" / "shop").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "shop")
    return root


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("src/shop/horae.toml", "concurrency = 3"),
        ("src/horae.toml", "concurrency = 3"),
        ("horae.toml", "concurrency = 3"),
        ("pyproject.toml", "[tool.horae]\nconcurrency = 3"),
    ],
)
def test_a_file_is_found_up_to_the_root_of_the_repository(
    repository: Path, place: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / place).write_text(text)
    assert settings().concurrency == 3
    monkeypatch.setenv("HORAE_CONCURRENCY", "4")
    assert settings().concurrency == 4
    assert settings(concurrency=5).concurrency == 5


def test_the_nearest_file_is_the_only_one(repository: Path) -> None:
    (repository / "pyproject.toml").write_text('[tool.horae]\nconcurrency = 1\nlog_level = "error"')
    (repository / "src" / "horae.toml").write_text("concurrency = 2")
    (repository / "src" / "pyproject.toml").write_text("[tool.horae]\nconcurrency = 3")
    assert (settings().concurrency, settings().log_level) == (2, "info")


def test_a_project_file_without_a_word_about_horae_may_be_in_any_state(repository: Path) -> None:
    (repository / "src" / "pyproject.toml").write_text("[tool.black")
    (repository / "src" / "shop" / "pyproject.toml").write_text(
        '[project]\ndependencies = ["horae"]'
    )
    (repository / "pyproject.toml").write_text("[tool.horae]\nconcurrency = 3")
    assert settings().concurrency == 3


def test_a_file_above_the_repository_or_above_a_folder_outside_of_any_is_not_read(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.parent / "horae.toml").write_text("concurrency = 3")
    assert settings().concurrency == 10
    (repository.parent / "elsewhere").mkdir()
    monkeypatch.chdir(repository.parent / "elsewhere")
    assert settings().concurrency == 10


def test_a_named_file_is_the_only_one(file: Path, repository: Path) -> None:
    (repository / "horae.toml").write_text("concurrency = 3")
    file.write_text("port = 9000")
    assert (settings().concurrency, settings().port) == (10, 9000)


def test_paths_in_a_found_file_are_relative_to_its_folder(repository: Path) -> None:
    path = repository / "horae.toml"
    path.write_text('database = "sqlite:///var/horae.db"\njournal_dir = "journals"')
    assert settings().database == f"sqlite:///{repository}/var/horae.db"
    assert settings().journal_dir == repository / "journals"
    for absolute in ("sqlite:////srv/horae.db", "sqlite:///:memory:", "postgresql://host/name"):
        path.write_text(f'database = "{absolute}"')
        assert settings().database == absolute


@pytest.mark.parametrize(
    ("place", "text", "problem"),
    [
        (
            "horae.toml",
            "concurency = 3",
            "concurency: unknown setting; did you mean 'concurrency'",
        ),
        (
            "pyproject.toml",
            "[tool.horae]\nprot = 3",
            "prot: unknown setting; did you mean 'port'",
        ),
        ("pyproject.toml", "[tool.horae]\nap = 'a:b'", "ap: unknown setting; did you mean 'app'"),
        ("horae.toml", "concurrency = 0", "concurrency .HORAE_CONCURRENCY.: 0 is not allowed"),
        ("horae.toml", "app = 3", "app: 3 is not allowed: expected module:attribute"),
        ("horae.toml", "app = ''", "app: '' is not allowed"),
        ("pyproject.toml", "[[tool.horae]]\nport = 3", "tool.horae: expected a table of settings"),
        ("pyproject.toml", "[tool.horae", "is not valid TOML"),
    ],
)
def test_a_problem_in_a_found_file_is_reported_with_its_path(
    repository: Path, place: str, text: str, problem: str
) -> None:
    (repository / place).write_text(text)
    with pytest.raises(ConfigurationError, match=f"{repository / place}:? {problem}"):
        settings()


def test_a_problem_outside_of_the_file_is_not_put_down_to_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "horae.toml").write_text("concurrency = 3")
    with pytest.raises(ConfigurationError, match=r"^concurrency .HORAE_CONCURRENCY.: 0 is"):
        settings(concurrency=0)
    monkeypatch.setenv("HORAE_CONCURRENCY", "many")
    with pytest.raises(ConfigurationError, match=r"^concurrency .HORAE_CONCURRENCY.: 'many' is"):
        settings()


def test_settings_do_not_change() -> None:
    found: Any = settings()
    with pytest.raises(ValueError, match="frozen"):
        found.concurrency = 3


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
