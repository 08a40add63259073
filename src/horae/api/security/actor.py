"""The user of a request, and the roles that decide what the user may see and do."""

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from horae.domain.jobs import EVERYBODY, Whose
from horae.domain.names import foreign_id
from horae.errors import ConfigurationError

if TYPE_CHECKING:
    # A program that only makes actors needs no web framework.
    from starlette.requests import Request


class Role(StrEnum):
    """A role of a user."""

    OWNER = "owner"
    READ_ONLY = "read_only"
    VIEWER = "viewer"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated user.

    `owner` starts jobs, and sees and cancels those it started; `read_only` sees everything and
    changes nothing; `viewer` sees the same without parameters, results and what may show them;
    `staff` sees and changes everything. `id` is the owner of the jobs that the
    actor starts: a text of 1 to 200 characters without control characters. Raises `InvalidRequest`
    for any other.
    """

    id: str
    roles: frozenset[Role] = frozenset({Role.OWNER})

    def __post_init__(self) -> None:
        """Refuse an invalid id."""
        foreign_id("actor", self.id)

    @property
    def sees_all(self) -> bool:
        """Whether the actor may see jobs of others and jobs without an owner."""
        return bool(self.roles & {Role.STAFF, Role.READ_ONLY, Role.VIEWER})

    @property
    def sees_values(self) -> bool:
        """Whether the actor may see the parameters, results and technical errors of all jobs."""
        return bool(self.roles & {Role.STAFF, Role.READ_ONLY})

    def sees_values_of(self, owner: str | None) -> bool:
        """Return whether the actor may see parameters and results of the jobs of this owner."""
        return self.sees_values or (Role.OWNER in self.roles and owner == self.id)

    @property
    def changes_all(self) -> bool:
        """Whether the actor may change jobs of others and jobs without an owner."""
        return Role.STAFF in self.roles

    @property
    def changes_own(self) -> bool:
        """Whether the actor may start jobs and change its own."""
        return bool(self.roles & {Role.STAFF, Role.OWNER})

    @property
    def reading_as(self) -> Whose:
        """The owner whose jobs the actor may see."""
        return EVERYBODY if self.sees_all else self.id

    @property
    def changing_as(self) -> Whose:
        """The owner whose jobs the actor may change."""
        return EVERYBODY if self.changes_all else self.id


def actor_of(user: "Actor | str | None", source: str) -> Actor | None:
    """Return the actor for what code of the application returned: an actor, the id of one who owns
    jobs, or None.

    Raises `ConfigurationError` for anything else, which names the `source`.
    """
    if isinstance(user, str):
        return Actor(user)
    if user is None or isinstance(user, Actor):
        return user
    raise ConfigurationError(
        f"{source} returned {type(user).__name__}, expected an Actor, the id of a user as a text,"
        " or None"
    )


class Authenticate(Protocol):
    """An application's function that identifies the user of a request, or returns None.

    May be a coroutine function.
    """

    def __call__(self, request: "Request", /) -> Actor | Awaitable[Actor | None] | None:
        """Identify the user."""
        ...
