"""The dashboard: the files that its build has left in `static/`, and its one page for every address of it."""

import html
from collections.abc import Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

STATIC: Final = Path(__file__).parents[1] / "static"
FOR_EVER: Final = "public, max-age=31536000, immutable"
"""Of files whose name has a hash of what is in them."""
ENCODINGS: Final[Mapping[str, str]] = {"br": ".br", "gzip": ".gz"}
"""What the build has laid beside a file, by its name in HTTP; the smallest first."""
NOT_BUILT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Horae</title></head>
<body><h1>Horae</h1>
<p>The interface works: see <a href="healthz">healthz</a> and <a href="api/openapi.json">api/openapi.json</a>.</p>
<p>The dashboard has not been built. In a checkout, <code>make web</code> builds it; a released wheel contains it.</p>
</body></html>
"""


class PageAddress(PathConvertor):
    """Any path but those of the API, so that a wrong method or address there is told as such."""

    regex = r"(?!api(?:/|\Z))(?s:.*)"


register_url_convertor("page", PageAddress())
router = APIRouter(include_in_schema=False)


@router.get("/{path:page}")
async def page(request: Request, path: str) -> Response:
    """A file of the dashboard, or the page that makes sense of the address."""
    file = _file(path)
    if file is not None:
        return _file_response(file, request.headers, hashed=path.startswith("assets/"))
    if path.startswith("assets/"):  # of an older build: a page in its place would only confuse
        raise HTTPException(404, "there is no such file")
    return HTMLResponse(_index(request.scope.get("root_path", "")), headers={"cache-control": "no-cache"})


def _file(path: str) -> Path | None:
    """The file of this name inside the folder, and never outside of it."""
    if not path:
        return None
    try:
        file = (STATIC / path).resolve()
        inside = file.is_relative_to(STATIC.resolve()) and file.is_file()
    except (OSError, ValueError):  # too long a name, or one with NUL, is the name of no file
        return None
    return file if inside and file.name != "index.html" else None


def _file_response(file: Path, asked: Headers, *, hashed: bool) -> FileResponse:
    """The file in the smallest form that the client accepts."""
    headers = {"cache-control": FOR_EVER if hashed else "no-cache", "vary": "accept-encoding"}
    media_type = guess_type(file.name)[0] or "application/octet-stream"
    for encoding, suffix in ENCODINGS.items():
        smaller = file.with_name(file.name + suffix)
        if accepts(asked.get("accept-encoding", ""), encoding) and smaller.is_file():
            return FileResponse(smaller, headers={**headers, "content-encoding": encoding}, media_type=media_type)
    return FileResponse(file, headers=headers, media_type=media_type)


def accepts(header: str, encoding: str) -> bool:
    """Whether an `Accept-Encoding` names this encoding, and does not rule it out by a weight of nothing."""
    for part in header.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        if name == encoding:
            weight = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
            return weight.strip("0.") != ""
    return False


def _index(root: str) -> str:
    """The page, which finds its files and the API relative to where the application is mounted."""
    index = STATIC / "index.html"
    if not index.is_file():
        return NOT_BUILT
    base = f'<head><base href="{html.escape(root)}/">'
    return index.read_text(encoding="utf-8").replace("<head>", base, 1)
