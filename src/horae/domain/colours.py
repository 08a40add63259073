"""Colours by which people tell installations apart, such as staging and production."""

import re
from collections.abc import Mapping
from typing import Final

from horae.errors import InvalidRequest
from horae.quoting import did_you_mean, quoted

COLOURS: Final[Mapping[str, str]] = {
    "red": "#b91c1c",
    "orange": "#f59e0b",
    "yellow": "#fde047",
    "green": "#15803d",
    "teal": "#0f766e",
    "blue": "#1d4ed8",
    "purple": "#7e22ce",
    "pink": "#db2777",
    "brown": "#78350f",
    "grey": "#4b5563",
    "black": "#111827",
}
"""The colours that have a name."""
_LINEAR_BELOW: Final = 0.04045
"""The part of a colour in sRGB below which it grows linearly with the light."""
_HEX: Final = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_DARKEST_LIGHT: Final = 0.179
"""The relative luminance above which black has a higher contrast than white."""


def check_colour(text: str) -> str:
    """Return a colour as it was given: a name, or `#` and six hexadecimal digits.

    Raises `InvalidRequest`.
    """
    if text.lower() in COLOURS or _HEX.fullmatch(text):
        return text
    raise InvalidRequest(
        f"colour {quoted(text, 50)}: expected {', '.join(COLOURS)}, or six hexadecimal digits such"
        f" as #ff8800{did_you_mean(text, COLOURS)}"
    )


def hex_of(colour: str) -> str:
    """Return a checked colour as `#` and six hexadecimal digits."""
    return COLOURS.get(colour.lower(), colour.lower())


def text_colour_on(colour: str) -> str:
    """Return black or white, whichever can be read better on this colour (WCAG 2)."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= _LINEAR_BELOW else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if luminance > _DARKEST_LIGHT else "#ffffff"
