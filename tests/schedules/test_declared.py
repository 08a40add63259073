"""`@horae.cron` and `@horae.every`: what may be declared, and the schema of a module that follows."""

import importlib
import inspect
import runpy
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import pytest

from horae import Horae, InvalidParameters, InvalidRequest, JobContext, SchemaError, Secret
from horae.errors import CronSyntaxError, InvalidInterval, JobTypeAlreadyRegistered


@pytest.fixture
def shop() -> Horae:
    """An application that opens nothing."""
    return Horae("sqlite:///never-opened.db", module="shop")


def test_a_function_stays_what_it_was(shop: Horae) -> None:
    ran: list[int] = []

    @shop.cron("0 3 * * *", timezone="Europe/Berlin")
    def purge() -> None:
        """Throw old things away."""
        ran.append(1)

    purge()
    assert (ran, purge.__doc__) == ([1], "Throw old things away.")
    assert [(item.name, item.job_type) for item in shop.declared] == [("purge", "purge")]
    assert shop.registry.get("purge").max_count is None


def test_a_coroutine_function_and_a_context_will_do(shop: Horae) -> None:
    @shop.every("10m")
    async def refresh(job: JobContext) -> None:
        job.progress.set(1)

    assert inspect.iscoroutinefunction(refresh.function)
    assert shop.registry.get("refresh").is_async


def test_its_schema_is_written_as_verbs(shop: Horae) -> None:
    @shop.cron(
        "0 3 * * *", timezone="Europe/Berlin", dst_gap="skip", overlap="buffer_one", jitter="5m"
    )
    def purge_sessions() -> None: ...

    @shop.every(
        timedelta(minutes=10), retry_period="30s", max_runtime="5m", queue="slow", priority=3
    )
    def refresh() -> None: ...

    assert shop.schema == (
        "module shop {\n"
        "  verb purgeSessions(Unit) Unit\n"
        "    +cron 0 3 * * *; dst_gap=skip timezone=Europe/Berlin\n"
        "    +overlap buffer_one\n"
        "    +jitter 0:05:00\n"
        "    +job purge_sessions\n"
        "    +queue default\n"
        "    +priority 0\n"
        "  verb refresh(Unit) Unit\n"
        "    +every 10m\n"
        "    +max_runtime 0:05:00\n"
        "    +retry_period 30s\n"
        "    +job refresh\n"
        "    +queue slow\n"
        "    +priority 3\n"
        "}\n"
    )


def report(region: str, days: int = 7) -> None: ...


def with_context(job: JobContext, region: str) -> None: ...


def test_parameters_are_checked_and_part_of_the_schema(shop: Horae) -> None:
    shop.cron("0 3 * * *", name="report-eu", params={"region": "eu"})(report)
    shop.cron("0 4 * * *", name="report-us", params={"region": "us", "days": 1})(report)
    shop.cron("0 5 * * *", params={"region": "us"})(with_context)
    assert [item.params for item in shop.declared] == [
        '{"region":"eu","days":7}',
        '{"region":"us","days":1}',
        '{"region":"us"}',
    ]
    assert '    +params {"region":"eu","days":7}\n' in shop.schema


def test_a_changed_parameter_is_another_schema() -> None:
    texts: list[str] = []
    for region in ("eu", "us"):
        horae = Horae("sqlite:///never-opened.db", module="shop")
        horae.cron("0 3 * * *", params={"region": region})(report)
        texts.append(horae.schema)
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("params", "error", "said"),
    [
        (
            {},
            InvalidParameters,
            "'report' does not accept these parameters: region: Field required",
        ),
        (
            {"regoin": "eu"},
            InvalidParameters,
            "region: Field required; regoin: Extra inputs are not permitted",
        ),
        ({"region": "eu", "days": "many"}, InvalidParameters, "days: "),
        ({"region": "a\0b"}, InvalidParameters, "NUL"),
        ("eu", InvalidRequest, "params 'eu': expected a mapping"),
        (None, InvalidRequest, "params None: expected a mapping"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_at_the_declaration(
    shop: Horae, params: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        shop.cron("0 3 * * *", params=params)(report)
    assert (shop.declared, list(shop.registry)) == ([], [])


def test_a_secret_does_not_get_into_the_schema(shop: Horae) -> None:
    def upload(token: Annotated[str, Secret()]) -> None: ...

    with pytest.raises(
        SchemaError, match=r"'upload': its parameters have a secret.*horae\.schedules\.add"
    ):
        shop.every("1h", params={"token": "hunter2"})(upload)
    assert shop.declared == []


def test_the_order_of_declarations_does_not_matter() -> None:
    texts: list[str] = []
    for order in (("a", "b"), ("b", "a")):
        horae = Horae("sqlite:///never-opened.db", module="shop")
        for name in order:
            horae.cron("0 3 * * *", name=name)(lambda: None)
        texts.append(horae.schema)
    assert texts[0] == texts[1]


def named(name: str) -> Any:
    def body() -> None: ...

    body.__name__ = body.__qualname__ = name
    return body


def with_parameter(number: int) -> None: ...


def with_default(number: int = 1) -> None: ...


def with_result() -> int:
    return 1


async def with_async_result() -> str:
    return ""


def with_text_annotation() -> "dict[str, int]":
    return {}


def with_several(job: JobContext, *rest: int) -> None: ...


def with_unknown() -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821 - that is the point
    ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (with_parameter, "with_parameter is scheduled, so it takes no parameter such as 'number'"),
        (with_default, "with_default .* 'number'"),
        (with_result, "with_result is scheduled, so it returns nothing; it says <class 'int'>"),
        (with_async_result, "with_async_result"),
        (with_text_annotation, "with_text_annotation"),
        (with_several, "with_several .* 'rest'"),
        (with_unknown, "with_unknown: an annotation cannot be resolved"),
    ],
)
def test_a_function_that_a_clock_cannot_call_is_a_schema_error(
    shop: Horae, function: Any, said: str
) -> None:
    for decorate in (shop.cron("* * * * *"), shop.every("1m")):
        with pytest.raises(SchemaError, match=said):
            decorate(function)
    assert shop.declared == []
    assert list(shop.registry) == []


@pytest.mark.parametrize(
    ("declare", "error", "said"),
    [
        (lambda shop: shop.cron("61 * * * *"), CronSyntaxError, "61"),
        (lambda shop: shop.cron("0 0 30 2 *"), CronSyntaxError, "never"),
        (
            lambda shop: shop.cron("* * * * *", timezone="Mars/Olympus"),
            InvalidRequest,
            "Mars/Olympus",
        ),
        (lambda shop: shop.cron("* * * * *", timezon="UTC"), InvalidRequest, "no option 'timezon'"),
        (
            lambda shop: shop.cron("* * * * *", fixed=True),
            InvalidRequest,
            "fixed= cannot be combined with cron=",
        ),
        (lambda shop: shop.cron("* * * * *", max_count=3), InvalidRequest, "no option 'max_count'"),
        (lambda shop: shop.every("0s"), InvalidInterval, "0s"),
        (
            lambda shop: shop.every("1m", dst_gap="skip"),
            InvalidRequest,
            "dst_gap= cannot be combined with every=",
        ),
    ],
)
def test_an_invalid_declaration_is_refused_at_once(
    shop: Horae, declare: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        declare(shop)


def test_rules_are_refused_when_the_function_is_declared(shop: Horae) -> None:
    def purge() -> None: ...

    with pytest.raises(InvalidRequest, match="max_retries -1"):
        shop.cron("* * * * *", max_retries=-1)(purge)
    with pytest.raises(InvalidRequest, match="overlap"):
        shop.every("1m", overlap="buffer_all")(purge)
    assert (shop.declared, list(shop.registry)) == ([], [])


def test_a_name_is_declared_once(shop: Horae) -> None:
    def purge() -> None: ...

    shop.cron("* * * * *", name="bill")(purge)
    with pytest.raises(JobTypeAlreadyRegistered):
        shop.cron("0 * * * *")(named("bill"))
    assert len(shop.declared) == 1


def test_a_module_that_is_loaded_again_declares_nothing_twice(shop: Horae) -> None:
    for expression in ("* * * * *", "0 * * * *"):
        shop.cron(expression)(named("purge"))
    assert [item.rules.trigger.text for item in shop.declared] == ["0 * * * *"]


MODULE: Final = """
from horae import Horae
shop = Horae("sqlite:///never-opened.db", module="shop")
"""
PURGE: Final = """
@shop.cron("{expression}", name={name!r})
def {function}() -> None: ...
"""


def test_a_module_that_is_loaded_again_may_have_moved_its_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shop_base.py").write_text(MODULE)
    importing = "from shop_base import shop\n"
    first = PURGE.format(expression="0 3 * * *", name="purge", function="purge")
    file = tmp_path / "shop_tasks.py"
    file.write_text(importing + first)
    module = importlib.import_module("shop_tasks")
    file.write_text(f"{importing}\n\n# moved down\n{first.replace('0 3', '0 15')}")
    importlib.invalidate_caches()
    importlib.reload(module)
    assert [item.rules.trigger.text for item in module.shop.declared] == ["0 15 * * *"]

    twice = PURGE.format(expression="0 4 * * *", name="purge", function="purge")
    file.write_text(importing + first + twice)
    with pytest.raises(
        JobTypeAlreadyRegistered, match=r"two functions shop_tasks\.purge, in line 3 and in line 6"
    ):
        importlib.reload(module)


def test_the_module_is_the_one_that_made_the_application() -> None:
    assert Horae("sqlite:///never-opened.db").module == __name__
    assert Horae("sqlite:///never-opened.db", module="other").module == "other"


def test_a_module_that_is_run_has_the_name_by_which_others_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rota_package" / "rota.py"
    file.parent.mkdir()
    file.write_text("from horae import Horae\nhorae = Horae('sqlite:///never-opened.db')\n")
    monkeypatch.syspath_prepend(tmp_path)
    named = runpy.run_module(
        "rota_package.rota", run_name="__main__"
    )  # python -m rota_package.rota
    assert named["horae"].module == "rota_package.rota"
    assert runpy.run_path(str(file), run_name="__main__")["horae"].module == "rota"


def test_a_second_decorator_on_one_function_is_refused(shop: Horae) -> None:
    """It would take the place of the first."""

    def purge() -> None: ...

    nightly = shop.cron("0 3 * * *")(purge)
    for again in (shop.every("10m"), shop.cron("0 15 * * *"), shop.job, shop.job(max_count=1)):
        for declared in (nightly, purge):
            with pytest.raises(
                JobTypeAlreadyRegistered,
                match=r"'purge' is already declared by this function.*name=",
            ):
                again(declared)
    assert [(item.name, item.rules.trigger.text) for item in shop.declared] == [
        ("purge", "0 3 * * *")
    ]


def test_another_name_makes_it_two(shop: Horae) -> None:
    def purge() -> None: ...

    nightly = shop.cron("0 3 * * *", name="nightly")(purge)
    often = shop.every("10m", name="often")(nightly)
    assert [item.name for item in shop.declared] == ["nightly", "often"]
    assert (nightly.function, often.function) == (purge, purge)
    assert often.job_type is shop.registry.get("often")
