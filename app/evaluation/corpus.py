"""A corpus in columns: texts, authors, and who says what about which entity, by people and by the text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

import numpy as np

from app.evaluation.layout import Layout
from app.evaluation.rows import files_of, rows_of
from app.evaluation.translation import drafts_of
from app.names import entity_key
from app.store.base import Opinion
from warp_core import InvalidInputError, OpinionScale, TargetDistribution, target_distribution
from warp_core.distributions import IntArray, bin_counts

UNKNOWN = -1
OTHER = "other"


@dataclass(frozen=True, eq=False)
class Labels:
    """One labelling of a corpus.

    Parameters
    ----------
    opinions : entity -> document -> bin.
    documents : bin of each document as a whole, shape (n,); -1 where it is unknown.
    scale : the axis of the bins.
    """

    opinions: Mapping[str, Mapping[int, int]]
    documents: IntArray
    scale: OpinionScale

    @property
    def entities(self) -> list[str]:
        """The entities that opinions are held on."""
        return list(self.opinions)

    def counts(self, entity: str) -> list[int]:
        """Opinions on an entity in each bin, length n_bins."""
        counted: list[int] = bin_counts(list(self.opinions.get(entity, {}).values()), self.scale.n_bins).tolist()
        return counted

    @cached_property
    def domain(self) -> list[int]:
        """Opinions on all entities together in each bin, length n_bins."""
        summed: list[int] = np.sum([[0] * self.scale.n_bins, *map(self.counts, self.opinions)], axis=0).tolist()
        return summed

    def target(self, entity: str) -> TargetDistribution:
        """What a list about the entity is to look like, by the service's rule."""
        return target_distribution(self.counts(entity), self.domain)

    @lru_cache(maxsize=256)  # noqa: B019 - the few labellings of a run live as long as it does
    def on(self, entity: str) -> tuple[IntArray, IntArray]:
        """Bin of every document on an entity (-1: it holds none), shape (n,); and its bin in a list about the entity.

        The latter is its opinion on the entity, else that of the document as a whole.
        """
        own = np.full(len(self.documents), UNKNOWN, np.intp)
        held = self.opinions.get(entity, {})
        own[list(held)] = list(held.values())
        return own, np.where(own >= 0, own, self.documents)


@dataclass(frozen=True)
class Corpus:
    """All documents, in the order in which they were read; columns of length n.

    Parameters
    ----------
    names : entity -> how the corpus writes it.
    human : people's labels; None when there are none.
    attributes : name -> category of each document's author, None where it is unknown.
    details : what opinions hold beside a bin (impact, markers, evidence type), by document and entity.
    embeddings : what the documents brought, if all did.
    """

    ids: list[str]
    texts: list[str]
    names: Mapping[str, str]
    human: Labels | None
    attributes: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    details: Mapping[tuple[int, str], Opinion] = field(default_factory=dict)
    embeddings: Sequence[list[float]] | None = None

    def __len__(self) -> int:
        return len(self.ids)


def read_corpus(path: Path, layout: Layout, scale: OpinionScale) -> Corpus:
    """Read a file, or the files of a folder.

    Raises
    ------
    InvalidInputError : nothing is there, a row breaks a rule, or two documents share an id.
    """
    rows = chain.from_iterable(map(rows_of, files_of(path, layout.files)))
    ids: dict[str, int] = {}
    texts: list[str] = []
    whole: list[int] = []
    names: dict[str, str] = {}
    opinions: dict[str, dict[int, int]] = {}
    attributes: list[Mapping[str, str]] = []
    details: dict[tuple[int, str], Opinion] = {}
    embeddings: list[list[float]] = []
    for draft, neutral in drafts_of(rows, layout, scale):
        name, content = draft.change.id, draft.content
        if content.excluded:
            continue
        if name in ids:
            raise InvalidInputError("corpus", f"two documents have the id {name!r}")
        number = ids[name] = len(ids)
        texts.append(content.text)
        whole.append(UNKNOWN if content.bin is None else content.bin)
        attributes.append(content.attributes)
        if draft.embedding is not None:
            embeddings.append(draft.embedding)
        for given, opinion in zip(neutral.get("opinions", ()), content.opinions, strict=True):
            names.setdefault(opinion.entity, given["entity"])
            opinions.setdefault(opinion.entity, {})[number] = opinion.bin
            if opinion.details():
                details[number, opinion.entity] = opinion
    if not ids:
        raise InvalidInputError("corpus", f"{path} holds no document")
    documents = np.array(whole, np.intp)
    return Corpus(
        ids=list(ids),
        texts=texts,
        names=names,
        human=Labels(opinions, documents, scale) if opinions or (documents >= 0).any() else None,
        attributes=_columns(attributes, layout),
        details=details,
        embeddings=embeddings if len(embeddings) == len(ids) else None,
    )


def _columns(rows: Sequence[Mapping[str, str]], layout: Layout) -> dict[str, list[str | None]]:
    """Attributes as columns, with rare categories as one."""
    columns = {}
    for name in sorted({name for row in rows for name in row}):
        values = [row.get(name) for row in rows]
        wanted = layout.attributes.get(name)
        counted = Counter(values)
        if wanted is not None:
            values = [value if value is None or counted[value] >= wanted.at_least else OTHER for value in values]
        columns[name] = values
    return columns


def mention_names(layout: Layout) -> dict[str, str]:
    """The entities that a layout gives words for, as `Corpus.names` has them."""
    return {entity_key("entity", name): name for name in layout.mentions}
