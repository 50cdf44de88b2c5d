from pathlib import Path

import pytest

from app.evaluation.layout import load_layout, packaged_layouts
from warp_core import InvalidInputError


@pytest.mark.parametrize("name", packaged_layouts())
def test_every_packaged_layout_can_be_read(name: str):
    layout = load_layout(name)
    for template in (*layout.questions.breadth, *layout.questions.polar, *layout.questions.segment):
        assert "{entity}" in template
    assert [len(kind) for kind in (layout.questions.breadth, layout.questions.polar, layout.questions.segment)] == [
        2
    ] * 3
    assert layout.neutral or layout.opinions.labels


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_layout_goes_over_its_base_table_by_table(tmp_path: Path):
    base = written(tmp_path, "base.toml", 'id = "key"\ntext = "body"\n[opinions]\nlist = "said"\nentity = "on"\n')
    mine = written(tmp_path, "mine.toml", f'base = "{base}"\ntext = "review"\n[opinions]\nentity = "about"\n')
    layout = load_layout(mine)
    assert (layout.id, layout.text) == ("key", "review")
    assert (layout.opinions.list, layout.opinions.entity) == ("said", "about")


def test_packaged_layouts_can_be_bases(tmp_path: Path):
    layout = load_layout(written(tmp_path, "mine.toml", 'base = "hotels"\n'))
    assert layout.opinions.list == "opinions"
    assert "guests" in layout.questions.breadth[0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("colour = 1", "colour"),
        ("[opinions]\nlabels = [{ column = 'x', kind = 'moon' }]", "moon"),
        ("text = 3", r"\$\.text"),
        ("text =", "TOML|Invalid value"),
        ("base = 3", "base must be"),
        ("base = 'nowhere'", "nowhere"),
        ("[attributes]\nage = { column = 'a', cuts = [1, 2], names = ['x', 'y'] }", "attributes.age"),
    ],
)
def test_a_broken_layout_is_refused_by_what_is_wrong(tmp_path: Path, text: str, complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        load_layout(written(tmp_path, "broken.toml", text))


def test_a_layout_cannot_stand_on_itself(tmp_path: Path):
    path = tmp_path / "round.toml"
    path.write_text(f'base = "{path}"')
    with pytest.raises(InvalidInputError, match="its own base"):
        load_layout(str(path))


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(InvalidInputError, match="tripadvisor_hotels"):
        load_layout("nothing")
