"""Colours of installations: what is accepted, and the text that can be read on each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.colours import COLOURS, check_colour, hex_of, text_colour_on
from horae.errors import ConfigurationError, InvalidRequest
from horae.settings import settings

LEAST_CONTRAST = 4.5
"""What WCAG 2 asks for."""


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@given(st.integers(0, 0xFFFFFF))
def test_the_text_can_be_read_on_every_colour(number: int) -> None:
    colour = f"#{number:06x}"
    assert contrast(colour, text_colour_on(colour)) >= LEAST_CONTRAST


@pytest.mark.parametrize("colour", [*COLOURS, "Orange", "#FF8800", "#012abc"])
def test_colours_that_are_accepted(colour: str) -> None:
    assert check_colour(colour) == colour
    assert hex_of(colour) == hex_of(colour.lower())
    assert len(hex_of(colour)) == 7


@pytest.mark.parametrize(
    "colour", ["", "#f80", "ff8800", "#ff8800;", 'red"><script>', "url(x)", "orang", "#ff880\u0660"]
)
def test_other_texts_are_refused(colour: str) -> None:
    with pytest.raises(InvalidRequest, match="expected red, orange"):
        check_colour(colour)
    with pytest.raises(ConfigurationError, match="colour"):
        settings(colour=colour)


def test_a_near_miss_is_corrected() -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'orange'"):
        check_colour("orang")
