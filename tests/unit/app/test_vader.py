import pytest

from app.labelling import vader


class OneScore:
    """An analyzer of a single mood."""

    def __init__(self, compound: float) -> None:
        self.compound = compound

    def polarity_scores(self, _text: str) -> dict[str, float]:
        return {"compound": self.compound}


@pytest.mark.parametrize(
    ("lean", "intensity"),
    [
        (1, "high"),
        (0.7, "high"),
        (0.6999, "medium"),
        (0.35, "medium"),
        (0.3499, "low"),
        (0, "low"),
        (-0.2, "low"),
        (-1, "low"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_strengths_are_cut_at_35_and_70_hundredths_toward_the_known_side(
    monkeypatch: pytest.MonkeyPatch, lean: float, intensity: str, sign: int
):
    monkeypatch.setattr(vader, "_analyzer", lambda: OneScore(sign * lean))
    assert vader.intensity_toward("", sign) == intensity


@pytest.mark.parametrize(
    ("text", "sign", "intensity"),
    [
        # compound = s / sqrt(s * s + 15), s the sum of the words' weights
        ("it was okay", 1, "low"),  # okay 0.9: 0.2263
        ("it was good", 1, "medium"),  # good 1.9: 0.4404
        ("it was good", -1, "low"),
        ("great love", 1, "high"),  # 3.1 + 3.2: 0.8519
        ("it was bad", -1, "medium"),  # bad -2.5: -0.5423
        ("", 1, "low"),
    ],
)
def test_the_lexicon_tells_how_strong_a_text_is(text: str, sign: int, intensity: str):
    pytest.importorskip("vaderSentiment")
    assert vader.intensity_toward(text, sign) == intensity
