"""Searching jobs: through the lists of the client, with tags, secrets and owners."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from horae import Horae, InvalidJobType, InvalidRequest, Secret
from horae.client.jobs import job_reads
from horae.types.options.start_options import StartOptions
from tests.harness.applications import execute


class Login(BaseModel):
    user: str
    password: Annotated[str, Secret()] = ""


@pytest.fixture
def shop(horae: Horae) -> Horae:
    """Jobs 1 to 4."""

    @horae.job(tags=["shop"])
    def order(
        customer_id: int, token: Annotated[str, Secret()], logins: dict[str, Login] | None = None
    ) -> None: ...

    @horae.job
    def report(customer_id: str, pin: Annotated[SecretStr, Secret()], login: Login) -> None: ...

    log_in = Login(user="ann", password="hunter2")
    horae.jobs.start(order, customer_id=4711, token="abc", owner="alice", tags=["eu", "shop"])
    horae.jobs.start(order, customer_id=4712, token="abc", owner="bob", logins={"first": log_in})
    horae.jobs.start(
        report, customer_id="4711", pin="1234", login=log_in, owner="bob", unique_key="k 1"
    )
    horae.jobs.start_many(order, [{"customer_id": 1, "token": "x"}])
    return horae


def found(horae: Horae, query: str, **filters: Any) -> list[int]:
    return [job.id for job in horae.jobs.list(query=query, **filters).jobs]


class TestParameters:
    def test_they_are_found_by_value(self, shop: Horae) -> None:
        assert found(shop, "params.customer_id:4711") == [3, 1]
        assert found(shop, 'params.customer_id:"4711"') == [3]
        assert found(shop, "params.login.user:ann") == [3]
        assert found(shop, "params.logins.first.user:ann") == [2]

    def test_those_of_ended_jobs_are_found(self, shop: Horae) -> None:
        shop.jobs.cancel(1)
        assert found(shop, "params.customer_id:4711") == [3, 1]

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "query",
        [
            "params.token:abc",
            "-params.token:abc",
            "params.pin:1234",
            "params.login.password:hunter2",
            "params.logins.first.password:hunter2",
            "params.logins.password:hunter2",
        ],
    )
    def test_secret_ones_cannot_be_searched(self, shop: Horae, query: str) -> None:
        with pytest.raises(InvalidRequest, match="secret parameters cannot be searched"):
            shop.jobs.list(query=query)

    @pytest.mark.parametrize("name", [r"pass\u0077ord", r"pass\x77ord", r"\password", "password\\"])
    def test_a_name_has_one_spelling(self, shop: Horae, name: str) -> None:
        with pytest.raises(InvalidRequest, match="cannot have a backslash"):
            shop.jobs.list(query=f"params.login.{name}:hunter2")
        with pytest.raises(InvalidRequest, match="cannot have a backslash"):
            shop.jobs.list(query=f"params.{name}:x")

    def test_a_secret_of_one_type_is_no_secret_of_another(self, shop: Horae) -> None:
        @shop.job
        def other(token: str) -> None: ...

        shop.jobs.start(other, token="abc")
        assert found(shop, "params.token:abc") == [5]
        # Jobs of a type whose token is secret do not meet the term, whatever their token is.
        assert set(found(shop, "-params.token:abc")) == {1, 2, 3, 4}
        assert set(found(shop, "-params.token:x")) == {1, 2, 3, 4, 5}

    @pytest.mark.one_database
    def test_those_of_types_that_are_not_declared_here_cannot_be_searched(
        self, shop: Horae
    ) -> None:
        execute(shop, "UPDATE horae_jobs SET type = 'elsewhere' WHERE id = 1")
        assert found(shop, "params.customer_id:4711") == [3]
        with pytest.raises(
            InvalidRequest, match=r"params\.missing: no job type that this program declares has"
        ):
            shop.jobs.list(query="params.missing:1")

    def test_an_alias_is_a_name(self, horae: Horae) -> None:
        @horae.job
        def work(number: Annotated[int, Field(alias="no")]) -> None: ...

        horae.jobs.create(work, {"no": 5}, StartOptions())
        assert found(horae, "params.no:5") + found(horae, "params.number:5") == [1]


class TestTags:
    def test_those_of_the_type_and_of_the_job_are_shown_and_found(self, shop: Horae) -> None:
        assert shop.jobs.get(1).tags == ("shop", "eu")
        assert [job.tags for job in shop.jobs.list(ids=[3, 4]).jobs] == [("shop",), ()]
        assert found(shop, "tag:shop") == [4, 2, 1]
        assert found(shop, "tag:shop -tag:eu") == [4, 2]
        assert found(shop, "tag:other") == []

    def test_a_retry_keeps_them(self, shop: Horae) -> None:
        shop.jobs.cancel(1)
        assert shop.jobs.retry(1).tags == ("shop", "eu")

    def test_they_go_with_their_job(self, shop: Horae) -> None:
        shop.jobs.cancel(1)
        shop.jobs.delete(1)
        assert found(shop, "tag:eu") == []

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "tags", ["eu", [""], [" eu"], ["a\nb"], ["x" * 101], [5], 5, [str(n) for n in range(21)]]
    )
    def test_bad_ones_are_refused(self, horae: Horae, tags: Any) -> None:
        @horae.job
        def work() -> None: ...

        with pytest.raises(InvalidRequest, match="tag"):
            horae.jobs.start(work, tags=tags)
        with pytest.raises(InvalidJobType, match=r"job type 'other': .*tag"):
            horae.job(name="other", tags=tags)(lambda: None)

    def test_too_many_with_those_of_the_type_are_refused(self, horae: Horae) -> None:
        @horae.job(tags=[str(number) for number in range(15)])
        def work() -> None: ...

        with pytest.raises(InvalidRequest, match="30 tags are too many"):
            horae.jobs.start(work, tags=[f"tag {number}" for number in range(15)])


class TestScope:
    def test_filters_and_owner_apply_as_well(self, shop: Horae) -> None:
        assert found(shop, "params.customer_id:4711", owner="bob") == [3]
        assert found(shop, "owner:alice", owner="bob") == []
        assert found(shop, "id:1", owner="bob") == []
        assert found(shop, "-owner:bob", types=["order"], states=["pending"]) == [4, 1]
        assert found(shop, 'key:"k 1"', queues=["default"]) == [3]
        assert found(shop, "tag:shop", ids=[1, 3]) == [1]

    def test_pages_go_on(self, shop: Horae) -> None:
        first = shop.jobs.list(query="type:o*", limit=2)
        rest = shop.jobs.list(query="type:o*", limit=2, cursor=first.next)
        assert [[job.id for job in page.jobs] for page in (first, rest)] == [[4, 2], [1]]
        assert rest.next is None

    def test_a_search_without_time_has_a_cursor(
        self, shop: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(job_reads, "SEARCH_TIME", -1.0)
        monkeypatch.setattr("horae.storage.jobs.search.searching.RANGES", (1,))
        page = shop.jobs.list(query="owner:alice")
        assert (page.jobs, page.next) == ([], "4")
        assert [job.id for job in shop.jobs.list(query="owner:alice", cursor="2").jobs] == [1]

    async def test_coroutines_search_as_well(self, shop: Horae) -> None:
        page = await shop.aio.jobs.list(query="params.customer_id:4712")
        assert [job.id for job in page.jobs] == [2]
