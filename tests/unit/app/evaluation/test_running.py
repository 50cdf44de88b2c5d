import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app import reranking
from app.evaluation.retrieval import load, service
from app.evaluation.running import Choice
from app.schemas import ExpansionChoice, SearchRequest
from app.settings import Settings
from tests.fakes import fake_encoder
from tests.unit.app.evaluation.small import ENTITIES, NEUTRAL, Inline, Quiet, run
from warp_core import SENTIMENT_INTENSITY, InvalidInputError, target_distribution
from warp_core.transport import w1_of_counts


def expansion_of(expansion: str, variant: str) -> ExpansionChoice:
    return msgspec.convert(expansion or ("auto" if variant == "auto" else "none"), ExpansionChoice)


async def test_what_is_measured_is_what_callers_of_the_service_get(tmp_path: Path):
    """Every method's list is that of POST /search with this variant and this expansion, and so are its measures."""
    findings = await run(tmp_path, disturb=False)
    encoder = fake_encoder()
    labels, corpus = findings.labels["human"], findings.corpus
    vectors = await encoder.encode(corpus.texts)
    async with service(Settings(), encoder, 30) as resources:
        await load(resources, "human", corpus, labels, vectors, findings.layout.pole_queries, lambda: None)
        for question, answered in zip(findings.questions, findings.answers["human"], strict=True):
            for one in answered.lists:
                if one.weight is not None or one.norm is not None or (one.k, one.n) not in ((6, 30), (3, 30), (6, 12)):
                    continue
                expansion, _, variant = one.method.rpartition("+")
                request = SearchRequest(
                    query=question.text,
                    entity=question.entity,
                    collection="human",
                    k=one.k,
                    pool_size=one.n,
                    variant=variant,
                    expansion=expansion_of(expansion, variant),
                    seed=findings.plan.seed,
                )
                answer = await reranking.search(request, resources)
                assert [result.id for result in answer.results] == [corpus.ids[i] for i in one.chosen], one.method
                assert answer.quality.em == pytest.approx(one.em, abs=1e-4)
                for ours, theirs in ((one.w1, answer.quality.w1), (one.w1_matched, answer.quality.w1_matched)):
                    assert ours == pytest.approx(np.nan if theirs is None else theirs, abs=1e-5, nan_ok=True)
                expected = labels.target(question.entity)
                shares = zip(SENTIMENT_INTENSITY.positions, expected.shares, strict=True)
                by_position = {f"{position:g}": share for position, share in shares if share}
                assert answer.target.distribution == pytest.approx(by_position, abs=1e-6)
    encoder.close()


async def test_the_operators_store_index_and_engine_are_left_alone(tmp_path: Path):
    """A running service shares its data directory with its workers, and would take over what lies there."""
    findings = await run(tmp_path, disturb=False, methods=["auto"])
    theirs = Settings(data_dir=tmp_path / "theirs", store="redis://nowhere:1", index="qdrant://nowhere:1/x")
    async with service(theirs, fake_encoder(), 30) as resources:
        vectors = await fake_encoder().encode(findings.corpus.texts)
        human = findings.labels["human"]
        await load(resources, "human", findings.corpus, human, vectors, findings.layout.pole_queries, lambda: None)
        assert len(resources.index["human"].entities("", 99)) == len(human.opinions)
    assert not (tmp_path / "theirs").exists()


async def test_nothing_finished_is_done_again(tmp_path: Path):
    first, second = Inline(), Inline()
    before = await run(tmp_path, workers=first, methods=["w1_minimizer", "auto"])
    after = await run(tmp_path, workers=second, methods=["w1_minimizer", "auto"])
    assert first.calls > 0
    assert second.calls == 0
    assert msgspec.msgpack.encode(before.answers) == msgspec.msgpack.encode(after.answers)  # the seconds too
    third = Inline()
    await run(tmp_path, workers=third, methods=["w1_minimizer", "w1_mmr", "auto"])
    assert 0 < third.calls < first.calls  # the labels from the text stay


async def test_a_run_that_was_cut_off_goes_on_where_it_stopped(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    class Cut(Inline):
        def submit(self, function, /, *given, **named):
            if self.calls == 5:
                raise KeyboardInterrupt
            return super().submit(function, *given, **named)

    with pytest.raises(KeyboardInterrupt):
        await run(tmp_path / "a", workers=Cut(), methods=["w1_minimizer"])
    rest, whole = Inline(), Inline()
    resumed = await run(tmp_path / "a", workers=rest, methods=["w1_minimizer"])
    straight = await run(tmp_path / "b", workers=whole, methods=["w1_minimizer"])
    assert whole.calls - rest.calls > 0
    for ours, theirs in zip(resumed.answers["human"], straight.answers["human"], strict=True):
        assert ours.wrong_labels == theirs.wrong_labels
        assert [one.chosen for one in ours.lists] == [one.chosen for one in theirs.lists]


async def test_people_and_text_label_the_same_opinions(tmp_path: Path):
    findings = await run(tmp_path, methods=["w1_minimizer"], disturb=False)
    human, text = findings.labels["human"], findings.labels["text"]
    assert findings.main == "human"
    assert set(findings.entities) == set(ENTITIES)
    for entity in ENTITIES:
        assert human.opinions[entity].keys() == text.opinions[entity].keys()
        assert human.counts(entity) != text.counts(entity)
    for ours, theirs in zip(findings.answers["human"], findings.answers["text"], strict=True):
        assert ours.pool == theirs.pool  # the same questions, the same retrieval
        assert ours.wrong_targets == theirs.wrong_targets == []


async def test_only_the_main_labels_are_disturbed(tmp_path: Path):
    findings = await run(tmp_path, methods=["w1_minimizer"], choice=Choice(min_count=20, labels="text"))
    assert findings.main == "text"
    assert findings.answers["text"][0].wrong_targets
    assert findings.answers["human"][0].wrong_targets == []


async def test_with_mentions_people_label_what_the_text_finds(tmp_path: Path):
    layout = msgspec.structs.replace(
        NEUTRAL, entities_from="mentions", mentions={"Pool": ("pool",), "Spa": ("spa",)}, labels="text"
    )
    findings = await run(tmp_path, methods=["w1_minimizer"], layout=layout, disturb=False)
    assert findings.main == "text"
    assert list(findings.entities) == ["pool"]
    human, text = findings.labels["human"], findings.labels["text"]
    assert set(text.opinions) == {"pool"}
    assert len(text.opinions["pool"]) == 40
    assert human.opinions["pool"] == {i: int(human.documents[i]) for i in range(40)}
    assert "Pool?" in findings.questions[0].text


async def test_the_population_is_every_opinion_and_the_domain_all_others(tmp_path: Path):
    findings = await run(tmp_path, methods=["w1_minimizer"], disturb=False)
    labels = findings.labels["human"]
    target = labels.target("pool")
    assert target == target_distribution(labels.counts("pool"), labels.domain)
    question = next(i for i, q in enumerate(findings.questions) if q.entity == "pool")
    (one,) = (x for x in findings.answers["human"][question].lists if (x.method, x.k, x.n) == ("w1_minimizer", 6, 30))
    bins = [labels.opinions["pool"][i] for i in one.chosen]
    assert one.w1 == pytest.approx(w1_of_counts(np.bincount(bins, minlength=7).tolist(), target, SENTIMENT_INTENSITY))


async def test_stages_are_told_as_they_begin(tmp_path: Path):
    progress = Quiet()
    await run(tmp_path, methods=["top_k"], progress=progress, disturb=False)
    assert progress.stages == [
        "label",
        "encode",
        *(f"{what}, {labels} labels" for labels in ("human", "text") for what in ("index", "retrieve", "choose")),
    ]


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (Choice(min_count=1000), "none of its 2 entities has 1000 opinions"),
        (Choice(queries=Path("questions.jsonl")), "no opinion on 'sauna'"),
    ],
)
async def test_a_corpus_with_nothing_to_ask_about_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: Choice, complaint: str
):
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "How is it?", "entity": "sauna"}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=complaint):
        await run(tmp_path, choice=choice)


async def test_given_questions_are_the_questions(tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"query": "How is it?", "entity": "Pool", "kind": "mine"}))
    findings = await run(tmp_path, methods=["top_k"], choice=Choice(queries=path), disturb=False)
    assert [(q.text, q.entity, q.kind) for q in findings.questions] == [("How is it?", "pool", "mine")]
    assert findings.entities["pool"].n == 40
