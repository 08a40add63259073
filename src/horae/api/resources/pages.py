"""The dashboard: its built files, and its one page for every other address."""

import html
from collections.abc import Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from horae.api.dependencies import ServicesHere
from horae.domain.colours import hex_of, text_colour_on

FOR_EVER: Final = "public, max-age=31536000, immutable"
"""The cache policy of files whose name contains a hash of their content."""
ENCODINGS: Final[Mapping[str, str]] = {"br": ".br", "gzip": ".gz"}
"""Suffixes of the compressed copies of each built file, by encoding, the smallest first."""
NOT_BUILT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Horae</title></head>
<body><h1>Horae</h1>
<p>The HTTP API works: see <a href="healthz">healthz</a> and
<a href="api/openapi.json">api/openapi.json</a>.</p>
<p>The dashboard is missing, because there was no Node.js when this package was installed from a
checkout. Run <code>make web</code> in the checkout and install again, or install Node.js 20.19 or
later first. A released wheel has the dashboard.</p>
</body></html>
"""


class PageAddress(PathConvertor):
    """A path outside the API; an unknown address of the API gets an error instead of the page."""

    regex = r"(?!api(?:/|\Z))(?s:.*)"


register_url_convertor("page", PageAddress())
router = APIRouter(include_in_schema=False)


@router.get("/{path:page}")
async def page(request: Request, services: ServicesHere, path: str) -> Response:
    """Read a file of the dashboard, or its page for any other address."""
    file = _file(services.dashboard, path)
    if file is not None:
        # In the smallest encoding that the client accepts.
        hashed, accepted = path.startswith("assets/"), request.headers.get("accept-encoding", "")
        headers = {"cache-control": FOR_EVER if hashed else "no-cache", "vary": "accept-encoding"}
        media_type = guess_type(file.name)[0] or "application/octet-stream"
        for encoding, suffix in ENCODINGS.items():
            compressed = file.with_name(file.name + suffix)
            if accepts(accepted, encoding) and compressed.is_file():
                headers["content-encoding"] = encoding
                return FileResponse(compressed, headers=headers, media_type=media_type)
        return FileResponse(file, headers=headers, media_type=media_type)
    # If a file of an older build is missing, the page in its place would be run as a script.
    if path.startswith("assets/"):
        raise HTTPException(404, "file not found")
    index, text = services.dashboard / "index.html", NOT_BUILT
    if index.is_file():
        # The page contains the base address, relative to where the application is mounted.
        base = f'<head><base href="{html.escape(request.scope.get("root_path", ""))}/">'
        if services.settings.colour is not None:
            # The element that names this installation is part of the page, so that the form to log
            # in has the band as well. Without a name that was given on purpose, there is only the
            # colour: the page is for everybody, and a host name is not.
            colour = hex_of(services.settings.colour)
            name = html.escape(services.settings.node_name or "")
            base += (
                f'<meta name="horae-band" content="{name}" data-colour="{colour}"'
                f' data-text="{text_colour_on(colour)}">'
            )
        text = index.read_text(encoding="utf-8").replace("<head>", base, 1)
    return HTMLResponse(text, headers={"cache-control": "no-cache"})


def _file(folder: Path, path: str) -> Path | None:
    """Return the file of this name if it exists inside the folder."""
    if not path:
        return None
    try:
        file = (folder / path).resolve()
        inside = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError):  # the name is too long or contains NUL
        return None
    return file if inside and file.name != "index.html" else None


def accepts(header: str, encoding: str) -> bool:
    """Return whether an `Accept-Encoding` header names this encoding with a weight above zero."""
    for part in header.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        if name == encoding:
            weight = next(
                (each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1"
            )
            return weight.strip("0.") != ""
    return False
