"""What /rerank is measured beside: (a) bare ASGI that reads the same bytes, (c) plain FastAPI with the same checks."""

from typing import Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

_LENGTH = b"2"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Read the body, answer `{}`: what the HTTP server itself costs."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", _LENGTH)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


Share = Annotated[float, Field(ge=0, le=1)]


class _Checked(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Opinion(_Checked):
    """As `app.schemas.OpinionInput`."""

    entity: str
    si: float | None = None
    sentiment: Literal["positive", "negative", "neutral", "mixed"] | None = None
    intensity: Literal["low", "medium", "high"] | None = None
    stars: float | None = None
    confidence: Share | None = None
    evidence: str | None = None
    evidence_type: str | None = None
    impact: float | None = None
    markers: list[str] = []


class Candidate(_Checked):
    """As `app.schemas.CandidateInput`."""

    id: str | None = None
    score: float | None = None
    text: str | None = None
    embedding: list[float] | None = None
    opinions: list[Opinion] | None = None
    si: float | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None
    attributes: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None


class Rerank(_Checked):
    """As `app.schemas.RerankRequest`, as far as the measured bodies use it."""

    query: str | None = None
    entity: str | None = None
    collection: str = "default"
    k: Annotated[int, Field(ge=1)] = 20
    variant: str = "auto"
    candidates: list[Candidate | str]


plain = FastAPI()


@plain.post("/rerank")
async def rerank(body: Rerank) -> dict[str, int]:
    """Check the body, answer with a constant."""
    return {"selected": 20}


@plain.get("/livez")
async def livez() -> dict[str, str]:
    """Ready."""
    return {"status": "ok"}
