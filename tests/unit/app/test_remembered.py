from app.remembered import Remembered


def test_the_one_asked_for_longest_ago_is_forgotten_first():
    kept: Remembered[str, int] = Remembered(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c"), len(kept)) == (1, None, 3, 2)


def test_a_value_that_is_put_again_replaces_the_old_one_and_is_forgotten_last():
    kept: Remembered[str, int] = Remembered(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        kept.put(key, value)
    assert (kept.get("a"), kept.get("b")) == (3, None)
