"""The promise on the demo corpus: at least 80% less distributional error than top-k, about the queried entity."""

from statistics import mean

from tests.end_to_end.process import Service, run

QUESTIONS = (
    "What do patients think about {entity}?",
    "What are the biggest complaints about {entity}?",
    "What positive experiences have patients had with {entity}?",
)
MIN_OPINIONS = 25


def test_auto_is_80_percent_closer_to_the_population_than_top_k(demo: Service) -> None:
    """Three questions for each condition with 25 or more opinions, N = 200, k = 20."""
    page = demo.client.get("/entities", params={"collection": "drugs", "limit": 1000}).json()
    entities = [one["entity"] for one in page["entities"] if one["n"] >= MIN_OPINIONS]
    assert "birth control" in entities
    answers = [
        demo.client.post(
            "/search", json={"collection": "drugs", "entity": entity, "query": question.format(entity=entity)}
        ).json()
        for entity in entities
        for question in QUESTIONS
    ]
    assert len(answers) == 21
    top_k = mean(answer["quality"]["w1_top_k"] for answer in answers)
    warp = mean(answer["quality"]["w1"] for answer in answers)
    assert warp <= 0.2 * top_k
    assert mean(answer["quality"]["em"] for answer in answers) >= 0.99
    assert all(answer["quality"]["w1"] >= answer["quality"]["w1_best"] for answer in answers)


def test_the_counts_of_the_demo_equal_a_recount(demo: Service) -> None:
    done = run(demo.log.parent, "verify")
    assert done.stdout == "all counts equal a recount\n"


def test_the_terminal_answers_the_same_question(demo: Service) -> None:
    question = "What do patients think about birth control?"
    done = run(demo.log.parent, "search", question, "--collection", "drugs", "--k", "5", "--encoder", "wordllama")
    assert done.returncode == 0, done.stderr
    assert "population" in done.stdout
