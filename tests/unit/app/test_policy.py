import pytest

from app.policy import policy_for, policy_of
from app.settings import Settings
from app.store.base import CollectionPolicy
from warp_core import InvalidInputError, Policy


def test_the_settings_make_the_policy():
    settings = Settings(
        dense_em=0.5,
        dense_variant="w1_exact",
        sparse_variant="top_k",
        short_pool_expansion="adaptive",
        deficit_ratio=0.25,
    )
    assert policy_of(settings) == Policy(0.5, "w1_exact", "top_k", "adaptive", 0.25)
    assert policy_of(Settings()) == Policy()


@pytest.mark.parametrize("argument", ["dense_variant", "sparse_variant"])
def test_a_variant_that_is_no_selector_is_refused_by_name(argument: str):
    with pytest.raises(InvalidInputError, match=argument):
        policy_of(Settings(**{argument: "w2"}))
    with pytest.raises(InvalidInputError, match=argument):
        policy_for(Policy(), CollectionPolicy(**{argument: "w2"}))


def test_what_a_collection_does_not_say_is_as_the_service_has_it():
    service = Policy(dense_em=0.5, n2=7)
    assert policy_for(service, CollectionPolicy()) is service
    own = CollectionPolicy(dense_variant="w1_exact", tau=0.25)
    assert policy_for(service, own) == Policy(dense_em=0.5, dense_variant="w1_exact", n2=7, tau=0.25)


def test_zero_is_a_value_and_not_left_out():
    own = CollectionPolicy(dense_em=0.0, deficit_ratio=0.0, n_exp=0, n2=0, tau=0.0)
    assert policy_for(Policy(), own) == Policy(dense_em=0.0, deficit_ratio=0.0, n_exp=0, n2=0, tau=0.0)
