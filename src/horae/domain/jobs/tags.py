"""Tags: short texts by which people find jobs again."""

from collections.abc import Collection
from typing import Final

from horae.errors import InvalidRequest
from horae.quoting import quoted

MOST_TAGS: Final = 20
"""Tags of one job, those of its type included; each is a row that is written with the job."""
LONGEST_TAG: Final = 100
"""Characters of a tag, which lists show in full."""


def parse_tags(given: object) -> tuple[str, ...]:
    """Return tags without repetition, in their order. Raises `InvalidRequest`."""
    if isinstance(given, str) or not isinstance(given, Collection):
        raise InvalidRequest(f"tags {quoted(given)}: expected a list of texts")
    for tag in given:
        if (
            not isinstance(tag, str)
            or not 0 < len(tag) <= LONGEST_TAG
            or not tag.isprintable()
            or tag != tag.strip()
        ):
            raise InvalidRequest(
                f"tag {quoted(tag)}: expected 1 to {LONGEST_TAG} printable characters, without a"
                " space at either end"
            )
    return together(given)


def together(*several: Collection[str]) -> tuple[str, ...]:
    """Return the tags of all collections without repetition.

    Raises `InvalidRequest` for too many.
    """
    tags = tuple(dict.fromkeys(tag for tags in several for tag in tags))
    if len(tags) > MOST_TAGS:
        raise InvalidRequest(
            f"{len(tags)} tags are too many for one job, which may have {MOST_TAGS}"
        )
    return tags
