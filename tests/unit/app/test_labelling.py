import pytest

from app.entities import NamesInText
from app.labelling import Label, open_labeller
from app.store.base import CollectionSettings
from warp_core import InvalidInputError

pytest.importorskip("vaderSentiment")


def test_no_collection_labels_unless_it_is_asked_to():
    assert open_labeller(CollectionSettings()) is None


def test_positions_become_bins_of_the_collection_s_scale():
    """The scale has two more positions at each end, so that -30 is bin 2."""
    positions = (-50.0, -40.0, -30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    label = open_labeller(CollectionSettings(positions, labeller="vader"))
    assert label is not None
    assert label("The pool was horrible and awful.", NamesInText({"pool": "pool", "bar": "bar"})) == Label(
        2, {"pool": 2}
    )
    assert label("   ", NamesInText({})) is None


def test_a_scale_without_the_labels_positions_is_refused():
    with pytest.raises(InvalidInputError, match=r"labeller.*this scale has not"):
        open_labeller(CollectionSettings((1.0, 2.0, 3.0), None, labeller="vader"))
