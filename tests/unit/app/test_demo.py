import msgspec
import pytest

from app import demo
from app.documents import Draft, draft
from app.names import entity_key
from app.store.base import Document
from warp_core import InvalidInputError


@pytest.fixture(scope="module")
def raw() -> list[bytes]:
    try:
        return list(demo.documents())
    except InvalidInputError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def drafts(raw: list[bytes]) -> list[Draft]:
    return [draft(one, demo.SETTINGS.scale) for one in raw]


def test_the_corpus_holds_979_documents_of_unique_ids(drafts: list[Draft]):
    assert len(drafts) == len({one.change.id for one in drafts}) == 979


def test_the_corpus_is_the_same_each_time(raw: list[bytes]):
    assert list(demo.documents()) == raw


def test_every_document_has_text_a_date_and_opinions_in_the_bin_of_its_rating(drafts: list[Draft]):
    def is_whole(content: Document) -> bool:
        return bool(content.text.strip() and content.timestamp and content.opinions) and {content.bin} == {
            opinion.bin for opinion in content.opinions
        }

    assert [one.change.id for one in drafts if not is_whole(one.content)] == []


def test_opinions_lie_on_both_sides_and_in_the_middle(drafts: list[Draft]):
    assert {one.content.bin for one in drafts} == set(range(7))


def test_the_entities_are_the_condition_and_the_drug_without_scraps_of_the_page(drafts: list[Draft]):
    for one in drafts:
        given = (one.content.metadata["condition"], one.content.metadata["drug"])
        named = {entity_key("entity", name) for name in given if name}
        assert {opinion.entity for opinion in one.content.opinions} <= named
        assert all("</span>" not in opinion.entity for opinion in one.content.opinions)


def test_texts_are_free_of_markup_and_outer_quotation_marks(raw: list[bytes]):
    texts = [msgspec.json.decode(one)["text"] for one in raw]
    assert [text for text in texts if "&#039;" in text or "&quot;" in text or text[:1] == '"'] == []


def test_the_pole_queries_name_the_entity():
    poles = msgspec.structs.asdict(demo.SETTINGS.pole_queries)
    assert [name for name, query in poles.items() if query.count("{entity}") != 1] == []
