"""Who asks, and what that lets them see and do."""

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from horae.domain.jobs.owner import EVERYBODY, Whose
from horae.domain.names import foreign_id

if TYPE_CHECKING:
    from starlette.requests import Request  # a program that only names people needs nothing of the web


class Role(StrEnum):
    """What somebody is to the jobs."""

    OWNER = "owner"
    READ_ONLY = "read_only"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who was recognised.

    `owner` starts jobs, and sees and cancels those it started; `read_only` sees everything and changes nothing; `staff`
    sees and changes everything. `id` is the owner of the jobs that the actor starts: a text of 1 to 200 characters
    without control characters, else `InvalidRequest`.
    """

    id: str
    roles: frozenset[Role] = frozenset({Role.OWNER})

    def __post_init__(self) -> None:
        """Refuse an id that is none, before it can be taken for anybody's."""
        foreign_id("actor", self.id)

    @property
    def sees_all(self) -> bool:
        """Whether other people's jobs, and what is nobody's, are shown."""
        return bool(self.roles & {Role.STAFF, Role.READ_ONLY})

    @property
    def changes_all(self) -> bool:
        """Whether other people's jobs, and what is nobody's, may be changed."""
        return Role.STAFF in self.roles

    @property
    def changes_own(self) -> bool:
        """Whether the actor may start jobs and change its own."""
        return bool(self.roles & {Role.STAFF, Role.OWNER})

    @property
    def reading_as(self) -> Whose:
        """Whose jobs are shown."""
        return EVERYBODY if self.sees_all else self.id

    @property
    def changing_as(self) -> Whose:
        """Whose jobs may be changed."""
        return EVERYBODY if self.changes_all else self.id


class Authenticate(Protocol):
    """What an application gives to say who asks; None is nobody. It may be a coroutine function."""

    def __call__(self, request: "Request", /) -> Actor | Awaitable[Actor | None] | None:
        """Who asks."""
        ...
