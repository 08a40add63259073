"""A text is stored as it is, refused, or marked; it never causes an error of the driver."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from horae.domain.storable import is_storable, is_storable_json, storable

# Hypothesis leaves surrogates out of `text()` unless asked.
anything = st.text(st.characters(codec=None) | st.sampled_from("\x00\\u0\ud800"))


@given(anything)
@example("\\u0000")
@example("\\\x00")
@example("\\\\u0000")
def test_json_is_checked_like_the_texts_in_it(text: str) -> None:
    assert is_storable_json(json.dumps([text], ensure_ascii=False)) == is_storable(text)


@given(anything)
def test_marked_texts_can_be_stored_and_storable_ones_are_unchanged(text: str) -> None:
    assert is_storable(storable(text))
    assert storable(text) == text or not is_storable(text)
