"""The explorer page at `/`: static files, no request to anywhere else."""

from importlib.resources import files

from fastapi import APIRouter, Response

from app.errors import NotFoundError

router = APIRouter(include_in_schema=False)

_PAGE = files("app") / "explorer"
_MEDIA_TYPES = {
    "index.html": "text/html",
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_FILES = {name: (_PAGE / name).read_bytes() for name in _MEDIA_TYPES}


@router.get("/")
async def page() -> Response:
    return _file("index.html")


@router.get("/explorer/{name}")
async def part(name: str) -> Response:
    if name not in _MEDIA_TYPES:
        raise NotFoundError(f"the explorer has no file {name!r}")
    return _file(name)


def _file(name: str) -> Response:
    headers = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
    return Response(_FILES[name], media_type=_MEDIA_TYPES[name], headers=headers)
