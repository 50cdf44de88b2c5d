"""Bodies made by damaging good ones: in their structure, in their values, in their bytes."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.hostile import NAMES
from warp_core import SELECTORS

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Operation:
    """A route that takes a body, and a good body that uses all that it has."""

    method: str
    template: str
    target: str
    good: Any

    @property
    def name(self) -> tuple[str, str]:
        """As in the OpenAPI document."""
        return self.method, self.template


_CANDIDATES = [
    {
        "id": f"d{i}",
        "score": 1.0 - i / 10,
        "text": f"text {i}",
        "embedding": [0.5, -0.5, 1.0 * i],
        "opinions": [
            ({"entity": "Tea", "si": 10}, {"entity": "tea", "stars": 4.5}, {"entity": "cup", "sentiment": "negative"})[
                i % 3
            ]
        ],
        "si": -10,
        "tokens": i,
        "attributes": {"traveller": "family"},
        "metadata": {"any": ["thing", 1, None, {"deep": 2.5}]},
    }
    for i in range(4)
]
_ASK = {
    "query": "what about the tea",
    "entity": "tea",
    "collection": "default",
    "k": 3,
    "variant": "auto",
    "expansion": "auto",
    "target": {"distribution": {"-30": 0.5, "20": 1}},
    "scope": "entity",
    "relevance_weight": 0.5,
    "rel_norm": "minmax",
    "fill": True,
    "token_budget": 100,
    "adaptive_k": 0.5,
    "redundancy_weight": 0.0,
    "seed": 7,
    "explain": True,
}
_FOREIGN = {
    "model": "default:tea@w1_minimizer",
    "query": "what about the tea",
    "collection": "default",
    "entity": "tea",
    "variant": "auto",
}
_FOREIGN_DOCUMENTS = ["some text", {"id": "d1", "text": "review 1", "n": 3}, {"id": 7, "text": "another"}]
_DOCUMENT = {
    "id": "new",
    "text": "some text",
    "opinions": [
        {"entity": "tea", "sentiment": "positive", "intensity": "high", "confidence": 0.9, "markers": ["joy"]}
    ],
    "si": 20,
    "attributes": {"traveller": "solo"},
    "metadata": {"n": 9007199254740993},
    "timestamp": "2024-02-29T12:00:00Z",
    "version": 3,
    "excluded": False,
}
OPERATIONS = (
    Operation("POST", "/rerank", "/rerank", {**_ASK, "candidates": _CANDIDATES, "score_kind": "similarity"}),
    Operation("POST", "/rerank", "/rerank/", {**_FOREIGN, "texts": ["a", "b", "a"], "return_text": True}),
    Operation(
        "POST",
        "/v1/rerank",
        "/v1/rerank",
        {**_FOREIGN, "documents": _FOREIGN_DOCUMENTS, "rank_fields": ["text", "n"], "return_documents": True},
    ),
    Operation("POST", "/v2/rerank", "/v2/rerank", {**_FOREIGN, "documents": _FOREIGN_DOCUMENTS, "top_n": 2}),
    Operation("POST", "/search", "/search", {**_ASK, "pool_size": 10}),
    Operation("POST", "/ingest", "/ingest", {"collection": "fuzzed", "documents": [_DOCUMENT, {"id": "other"}]}),
    Operation(
        "PUT",
        "/collections/{collection}",
        "/collections/fuzzed%20settings",
        {
            "positions": [1, 2.5, 4],
            "stars": [1, 2, 3, 4, 5],
            "pole_queries": {"positive": "good {entity}", "neutral": "{entity}", "negative": "bad {entity}"},
            "registry": {"tea": ["chai", "cha"]},
        },
    ),
    Operation("PUT", "/entities/{entity}/target", "/entities/tea/target", {"distribution": {"-30": 1, "30": 3}}),
)

HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    31,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    10**400,
    0.0,
    -0.0,
    0.5,
    2.5,
    -30,
    30,
    1e15,
    1e308,
    -1e308,
    5e-324,
    "",
    " ",
    "tea",
    "auto",
    "3",
    "2024-13-45",
    "9223372036854775808",
    "x" * 513,
    "\u0661\u0662",
    [],
    {},
    [[]],
    [None],
    {"": None},
    [1, 2, 3],
    ["tea"] * 50,
    {"-30": 1},
    {"id": "d1"},
    *SELECTORS,
    *NAMES,
)
"""What a value is replaced with. Those of them that are no JSON come in as bytes, by `damaged_bytes`."""

_TOKENS = (
    *(b"NaN", b"-Infinity", b"Infinity", b"1e999", b"-1e999", b"0x10", b"01", b"+1", b".5", b"1.", b"9" * 5000),
    *(b'"\\ud83d"', b'"\\udc00\\ud800"', b'"\\x00"', b'"\x00"', b'"\n"', b"'a'", b'"\xff\xfe"', b'"\xed\xa0\xbd"'),
    *(
        b"[" * 2000,
        b'{"a":' * 2000,
        b"]",
        b"}",
        b",",
        b":",
        b'"',
        b"//",
        b"/**/",
        b"undefined",
        b"\xef\xbb\xbf",
        b"\x00",
    ),
    *(
        b"1e-999",
        b"-0",
        b"1E400",
        b"true",
        b"null",
        b'{"$ref":"#"}',
        b'{"k":1,"k":2}',
        b"\xc0\x80",
        b"\xf4\x90\x80\x80",
    ),
)


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Where all values of a body stand."""
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, (*at, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from paths(item, (*at, i))


def parent(body: Any, at: Path) -> Any:
    """The mapping or list that holds a value."""
    for step in at[:-1]:
        body = body[step]
    return body


@st.composite
def damaged_bodies(draw: st.DrawFn, operation: Operation) -> Any:
    """A good body, of which up to three values are replaced, removed, renamed or repeated."""
    body = copy.deepcopy(operation.good)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from(list(paths(body))))
        value = copy.deepcopy(draw(st.one_of(st.sampled_from(HOSTILE_VALUES), _anything)))
        if not at:
            return value
        inside = parent(body, at)
        how = draw(st.sampled_from(("replace", "replace", "remove", "rename", "repeat")))
        if how == "replace":
            inside[at[-1]] = value
        elif how == "remove":
            del inside[at[-1]]
        elif how == "repeat" and isinstance(inside, list):
            inside.extend([inside[at[-1]]] * draw(st.integers(1, 45)))
        elif isinstance(inside, dict):
            inside[draw(st.one_of(st.sampled_from(NAMES), st.text(max_size=8)))] = inside.pop(at[-1])
    return body


_anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=8,
)


@st.composite
def damaged_bytes(draw: st.DrawFn, operation: Operation) -> bytes:
    """The bytes of a good body, cut, overwritten, or with something put in between; or encoded in another way."""
    body = msgspec.json.encode(operation.good)
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(body)))
        end = draw(st.integers(begin, min(len(body), begin + 20)))
        token = draw(st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=6)))
        how = draw(st.sampled_from(("insert", "insert", "overwrite", "cut", "drop", "twice")))
        if how == "insert":
            body = body[:begin] + token + body[begin:]
        elif how == "overwrite":
            body = body[:begin] + token + body[end:]
        elif how == "cut":
            body = body[:begin]
        elif how == "drop":
            body = body[:begin] + body[end:]
        else:
            body = body[:end] + body[begin:]
    encoding = draw(st.sampled_from((*["utf-8"] * 12, "utf-16", "utf-32", "utf-8-sig", "latin-1")))
    return body if encoding == "utf-8" else body.decode("utf-8", "replace").encode(encoding, "replace")
