"""The memory of who has changed something is bounded."""

from horae.api.last_changes import MOST_USERS, LastChanges


def test_only_so_many_users_are_remembered() -> None:
    changes = LastChanges()
    for number in range(MOST_USERS + 2):
        changes.note(f"user {number}")
    assert (
        changes.of("user 1")
        == float("-inf")
        < changes.of("user 2")
        <= changes.of(f"user {MOST_USERS + 1}")
    )
