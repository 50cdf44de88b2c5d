"""The whole evaluation, top to bottom: corpus -> vectors and labels -> questions -> pools -> lists."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

import app
import warp_core
from app import encoder as encoder_module
from app.columns import CHARACTERS_A_TOKEN
from app.encoder import Encoder, unit
from app.evaluation import text_labels
from app.evaluation.cache import Cache, code_of, digest_of, packages_of
from app.evaluation.cases import Answered, Plan, Work, answer
from app.evaluation.corpus import UNKNOWN, Corpus, Labels, mention_names
from app.evaluation.layout import Layout
from app.evaluation.methods import Methods
from app.evaluation.parts import done
from app.evaluation.questions import Question, from_file, templated
from app.evaluation.retrieval import Retrieved, load, retrieve, service
from app.labelling import vader
from app.settings import Settings
from app.store.base import Vector
from warp_core import CandidatePool, InvalidInputError, OpinionScale
from warp_core.evaluation.disagreement import MIN_COUNT, MIN_ENTROPY, MIN_MINORITY, Disagreement, disagreement, disputed
from warp_core.evaluation.experiment import Case
from warp_core.evaluation.robustness import Population

LabelName = Literal["human", "text"]
CHUNK = 1000
"""Documents that are encoded, or labelled, as one part."""


class Progress(Protocol):
    """Where the run tells how far it has come."""

    def stage(self, name: str, total: int) -> Callable[[], object]:
        """Begin a stage of so many steps; what comes back is called after each."""


@dataclass(frozen=True)
class Choice:
    """Which entities are asked about (the papers' rule), or which questions, and by which labels.

    Parameters
    ----------
    entities : how many at most. queries : a file of questions, instead of templates. labels : what the main tables go
        by; None is the layout's word.
    """

    entities: int = 10
    min_entropy: float = MIN_ENTROPY
    min_minority: float = MIN_MINORITY
    min_count: int = MIN_COUNT
    queries: Path | None = None
    labels: LabelName | None = None


@dataclass(frozen=True)
class Findings:
    """All that was found; the tables are made of this alone.

    Parameters
    ----------
    main : the labelling that the main tables go by. labels, answers : by labelling; answers are in the order of
        `questions`.
    """

    corpus: Corpus
    layout: Layout
    scale: OpinionScale
    methods: Methods
    plan: Plan
    entities: Mapping[str, Disagreement]
    questions: Sequence[Question]
    main: LabelName
    labels: Mapping[LabelName, Labels]
    answers: Mapping[LabelName, Sequence[Answered]]


async def evaluate(
    corpus: Corpus,
    layout: Layout,
    scale: OpinionScale,
    methods: Methods,
    choice: Choice,
    plan: Plan,
    encoder: Encoder,
    settings: Settings,
    cache: Cache,
    workers: Executor,
    progress: Progress,
) -> Findings:
    """Run everything that is not in the cache yet.

    Raises
    ------
    InvalidInputError : the corpus has no entity to ask about, or none of the labels that are asked for.
    """
    labels = _labellings(corpus, layout, scale, cache, workers, progress)
    main = choice.labels or (layout.labels if layout.labels in labels else "text")
    if main not in labels:
        raise InvalidInputError("labels", f"the corpus holds no {main} labels")
    corpus = replace(corpus, names={**corpus.names, **mention_names(layout)})
    entities, questions = _asked_about(corpus, layout, scale, labels[main], choice)
    vectors = await _vectors(corpus, encoder, cache, progress)
    answers: dict[LabelName, Sequence[Answered]] = {}
    async with service(settings, encoder, plan.n) as resources:
        for name in sorted(labels, key=lambda one: one != main):
            advance = progress.stage(f"index, {name} labels", len(corpus))
            await load(resources, name, corpus, labels[name], vectors, layout.pole_queries, advance)
            numbers = {document: number for number, document in enumerate(corpus.ids)}
            advance = progress.stage(f"retrieve, {name} labels", len(questions))
            retrieved = []
            for question in questions:
                retrieved.append(
                    await retrieve(resources, name, numbers, question, methods, plan.ks, plan.sizes, plan.seed)
                )
                advance()
            own_plan = replace(plan, disturb=plan.disturb and name == main)
            work = [
                _work(corpus, labels[name], vectors, question, found, plan.seed, stream)
                for stream, (question, found) in enumerate(zip(questions, retrieved, strict=True))
            ]
            code = code_of(warp_core, app)
            keyed = [(_key(own_plan, one, code), one) for one in work]
            advance = progress.stage(f"choose, {name} labels", len(work))
            answers[name] = done(keyed, partial(answer, own_plan), Answered, cache, workers, advance)
    return Findings(corpus, layout, scale, methods, plan, entities, questions, main, labels, answers)


async def _vectors(corpus: Corpus, encoder: Encoder, cache: Cache, progress: Progress) -> Vector:
    """Unit vectors of all documents, shape (n, dimension); those that the documents brought, if all did."""
    if corpus.embeddings is not None:
        brought = unit(corpus.embeddings)
        if brought.shape[1] != encoder.dimension:
            raise InvalidInputError(
                "encoder", f"{encoder.name} makes {encoder.dimension} numbers, the documents brought {brought.shape[1]}"
            )
        return brought
    probe = await encoder.encode(["What do people think about this?"])  # tells two models of one name apart
    model = digest_of(encoder.name, probe, code_of(encoder_module))
    advance = progress.stage("encode", len(corpus))
    chunks = []
    for start in range(0, len(corpus), CHUNK):
        texts = corpus.texts[start : start + CHUNK]
        key = digest_of("vectors", model, texts)
        kept = cache.get(key)
        if kept is None:
            kept = (await encoder.encode(texts)).tobytes()
            cache.put(key, kept)
        chunks.append(np.frombuffer(kept, np.float32).reshape(len(texts), encoder.dimension))
        for _ in texts:
            advance()
    return np.concatenate(chunks)


def _labellings(
    corpus: Corpus, layout: Layout, scale: OpinionScale, cache: Cache, workers: Executor, progress: Progress
) -> dict[LabelName, Labels]:
    """What people say, where they say it, and what the text says."""
    people_say = corpus.human is not None and bool(corpus.human.opinions)
    by_mention = layout.entities_from == "mentions" or not people_say
    mentions = {entity: layout.mentions[name] for entity, name in mention_names(layout).items()}
    held: list[list[str]] = [[] for _ in corpus.ids]
    if corpus.human and not by_mention:
        for entity, opinions in corpus.human.opinions.items():
            for number in opinions:
                held[number].append(entity)
    advance = progress.stage("label", len(range(0, len(corpus), CHUNK)))
    code = digest_of(code_of(vader, text_labels), packages_of("vaderSentiment"))
    tasks = [
        text_labels.Task(corpus.texts[start : start + CHUNK], held[start : start + CHUNK], mentions, by_mention)
        for start in range(0, len(corpus), CHUNK)
    ]
    keyed = [(digest_of("text labels", code, task), task) for task in tasks]
    labelled = [
        one
        for chunk in done(keyed, text_labels.label, list[text_labels.Labelled], cache, workers, advance)
        for one in chunk
    ]
    text: dict[str, dict[int, int]] = {}
    for number, one in enumerate(labelled):
        for entity, position in one.opinions.items():
            text.setdefault(entity, {})[number] = scale.nearest_bin(position)
    found: dict[LabelName, Labels] = {}
    if by_mention and corpus.human:
        # What people say of a document as a whole is the nearest thing to a label of theirs on what it mentions.
        documents = corpus.human.documents
        found["human"] = Labels(
            {e: {i: int(documents[i]) for i in own if documents[i] >= 0} for e, own in text.items()}, documents, scale
        )
    elif corpus.human and people_say:
        found["human"] = corpus.human
    found["text"] = Labels(text, np.array([scale.nearest_bin(one.whole) for one in labelled], np.intp), scale)
    return found


def _asked_about(
    corpus: Corpus, layout: Layout, scale: OpinionScale, labels: Labels, choice: Choice
) -> tuple[dict[str, Disagreement], list[Question]]:
    counts = {entity: labels.counts(entity) for entity in labels.entities}
    if choice.queries is not None:
        questions = from_file(choice.queries, labels.entities)
        return {q.entity: disagreement(counts[q.entity], scale) for q in questions}, questions
    entities = disputed(
        counts,
        choice.entities,
        scale,
        min_entropy=choice.min_entropy,
        min_minority=choice.min_minority,
        min_count=choice.min_count,
    )
    if not entities:
        raise InvalidInputError(
            "corpus",
            f"none of its {len(counts)} entities has {choice.min_count} opinions with an entropy of "
            f"{choice.min_entropy:g} and a minority of {choice.min_minority:g}",
        )
    return entities, templated(entities, corpus.names, layout.questions)


def _work(
    corpus: Corpus,
    labels: Labels,
    vectors: Vector,
    question: Question,
    found: Retrieved,
    seed: int,
    stream: int,
) -> Work:
    own, shown = labels.on(question.entity)
    documents = found.documents
    texts = [corpus.texts[number] for number in documents.tolist()]
    pool = CandidatePool(
        found.relevance,
        shown[documents],
        own[documents] >= 0,
        labels.scale,
        embeddings=vectors[documents],
        tokens=[-(-len(text) // CHARACTERS_A_TOKEN) for text in texts],
        texts=texts,
    )
    others = [total - n for total, n in zip(labels.domain, labels.counts(question.entity), strict=True)]
    about = np.flatnonzero(own >= 0)
    members = np.where(own[documents] >= 0, np.searchsorted(about, documents), UNKNOWN)
    return Work(
        Case(pool, labels.target(question.entity), question.text, seed),
        Population(own[about], members, others),
        documents,
        found.asked,
        shown,
        own >= 0,
        stream,
    )


def _key(plan: Plan, work: Work, code: str) -> str:
    pool, population = work.case.pool, work.population
    return digest_of(
        "answers",
        code,
        [plan.selectors, plan.ks, plan.sizes, plan.seed, plan.disturb, plan.target_samples, plan.label_samples],
        [
            work.case.query,
            work.stream,
            list(work.case.target.cumulative),
            list(population.domain),
            list(pool.texts or ()),
        ],
        [[one.method, one.k, one.n, one.chosen] for one in work.asked],
        work.documents,
        pool.relevance,
        pool.bins,
        pool.matched,
        pool.embeddings,
        population.bins,
        work.bins,
    )
