"""Labels from the text alone, by the VADER lexicon: what stands in where people gave none, and what theirs are held to.

An opinion on an entity is the mean mood of the sentences that mention it; where none does, that of the whole text.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from app.labelling import vader


class Task(msgspec.Struct, frozen=True):
    """Some documents to label.

    Parameters
    ----------
    texts : the documents.
    entities : of each document, the entities that it is known to hold an opinion on.
    mentions : entity -> words by which a text mentions it; left out, its name.
    by_mention : also label each entity of `mentions` that a text mentions.
    """

    texts: Sequence[str]
    entities: Sequence[Sequence[str]]
    mentions: Mapping[str, Sequence[str]]
    by_mention: bool


class Labelled(msgspec.Struct, frozen=True):
    """The positions of one document: as a whole, and on each entity."""

    whole: int
    opinions: dict[str, int]


def label(task: Task) -> list[Labelled]:
    """Label the documents of a task, in order."""
    patterns = {entity: _pattern(words) for entity, words in task.mentions.items()}
    for entity in {entity for known in task.entities for entity in known} - patterns.keys():
        patterns[entity] = _pattern([entity])
    return [
        _labelled(text, known, patterns, task.mentions if task.by_mention else ())
        for text, known in zip(task.texts, task.entities, strict=True)
    ]


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _labelled(
    text: str, known: Sequence[str], patterns: Mapping[str, re.Pattern[str]], to_find: Mapping[str, object] | tuple[()]
) -> Labelled:
    sentences = vader.sentences_of(text)
    moods: dict[int, float] = {}

    def mood_of(position: int) -> float:
        if position not in moods:
            moods[position] = vader.mood(sentences[position])
        return moods[position]

    whole = int(vader.position_of([vader.mood(text)]))
    opinions = {}
    for entity in dict.fromkeys((*known, *to_find)):
        about = [i for i, sentence in enumerate(sentences) if patterns[entity].search(sentence)]
        if about:
            opinions[entity] = int(vader.position_of(list(map(mood_of, about))))
        elif entity in known:
            opinions[entity] = whole
    return Labelled(whole, opinions)
