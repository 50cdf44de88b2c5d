"""The explorer page in a real browser, against a real service process."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.end_to_end.process import Service, running_service

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
Browser, Locator, Page = playwright.Browser, playwright.Locator, playwright.Page

pytestmark = pytest.mark.browser

Document = dict[str, Any]

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = "<img src=x onerror=alert(1)> the spa"
LONG = "The breakfast is what people think about. " * 40


def document(name: str, text: str, entity: str, si: int) -> Document:
    return {"id": name, "text": text, "opinions": [{"entity": entity, "si": si}]}


# Praise is worded as the question and complaints are not, so that plain top-k shows praise alone.
DOCUMENTS = [
    *(
        document(f"praise-{i}", f"People think the breakfast is lovely, {i} of them.", "Breakfast", 20)
        for i in range(8)
    ),
    *(document(f"complaint-{i}", f"Cold eggs and stale bread on day {i}.", "Breakfast", -30) for i in range(8)),
    document("long", LONG, "Breakfast", 10),
    *(document(f"room-{i}", f"The rooms on floor {i} are small.", "Rooms", -10) for i in range(4)),
    document("hostile", HOSTILE, "Spa", 0),
]


def ingest(service: Service, collection: str, documents: list[Document], **headers: str) -> None:
    answer = service.client.post("/ingest", json={"collection": collection, "documents": documents}, headers=headers)
    assert answer.json()["created"] == len(documents)


@pytest.fixture(scope="module")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(tmp_path_factory.mktemp("service")) as service:
        ingest(service, "hotels", DOCUMENTS)
        assert service.client.put("/collections/kitchens", json={"positions": [1, 2, 3, 4, 5]}).is_success
        ingest(service, "kitchens", [document("oven", "The oven is hot.", "Oven", 4)])
        yield service.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with (
        playwright.sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser,
    ):
        yield browser


@pytest.fixture
def console() -> list[str]:
    """Errors that the browser's console shows, in order."""
    return []


@pytest.fixture
def page(browser: Browser, console: list[str]) -> Iterator[Page]:
    """A fresh page, in which no script may fail, no dialog may open and no request may leave the origin."""
    with browser.new_context() as context:
        page = context.new_page()
        failures: list[Exception] = []
        dialogs: list[str] = []
        requests: list[str] = []
        page.on("pageerror", lambda error: failures.append(error))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: console.append(message.text) if message.type == "error" else None)
        yield page
        assert failures == []
        assert dialogs == []
        assert {urlsplit(url).netloc for url in requests} == {urlsplit(page.url).netloc}


def figure(page: Page, title: str) -> Locator:
    return page.get_by_role("figure").filter(has=page.get_by_role("heading", name=title, exact=True))


def results(page: Page, title: str) -> Locator:
    section = page.locator("section").filter(has=page.get_by_role("heading", level=2, name=title, exact=True))
    return section.get_by_role("listitem")


def tab_to(page: Page, control: Locator) -> None:
    """Press Tab until the control has the focus, and see that it shows."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if control.evaluate("element => element === document.activeElement"):
            assert control.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
            return
    pytest.fail("Tab does not get there")


def test_the_first_visit_shows_the_most_frequent_entity_in_three_histograms_and_two_lists(
    page: Page, console: list[str], service_url: str
) -> None:
    page.goto(service_url)
    expect(page.get_by_label("Entity")).to_have_value("breakfast")
    expect(page.get_by_role("figure")).to_have_count(3)
    expect(results(page, "Plain top-k")).to_have_count(10)
    expect(results(page, "WARP")).to_have_count(10)
    assert page.url.endswith("?collection=hotels&entity=breakfast&k=10")
    assert console == []


def test_the_histograms_and_lists_show_what_plain_retrieval_leaves_out(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?entity=Breakfast&k=8")
    expect(results(page, "Plain top-k").filter(has_text="−30")).to_have_count(0)
    complaints = results(page, "WARP").filter(has_text="−30")
    expect(complaints).to_have_count(4)
    expect(complaints.filter(has_text="Only here").filter(has_text="about breakfast")).to_have_count(4)
    plain = figure(page, "Plain top-k").get_by_role("img").get_attribute("aria-label")
    warp = figure(page, "WARP").get_by_role("img").get_attribute("aria-label")
    assert plain.startswith("−30: 0%")
    assert warp.startswith("−30: 50%")
    distances = [float(figure(page, title).locator("dd").first.inner_text()) for title in ("Plain top-k", "WARP")]
    assert distances[1] < distances[0]
    expect(figure(page, "Population").locator("dd")).to_have_count(0)


def test_the_decision_is_told_in_one_sentence(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?entity=Breakfast&k=8")
    expect(page.locator("#decision")).to_have_text(
        re.compile(r"^WARP chose with \w+ from the retrieved documents .*\(opinions in deficit: .+\): .+\.$")
    )


def test_the_keyboard_alone_reaches_an_answer(page: Page, service_url: str) -> None:
    page.goto(service_url)
    expect(page.get_by_role("figure")).to_have_count(3)
    tab_to(page, page.get_by_label("Entity"))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    tab_to(page, page.get_by_label("Question"))
    page.keyboard.type("How small are the rooms?")
    page.keyboard.press("Enter")
    expect(results(page, "WARP").first).to_contain_text("about rooms")
    expect(page.get_by_role("status")).to_contain_text("Distance from the population")
    assert "q=How+small" in page.url


def test_a_hostile_review_is_text(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?entity=spa&k=1")
    expect(results(page, "WARP")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_a_long_review_unfolds(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?entity=breakfast&q={LONG[:40]}&k=1")
    review = results(page, "Plain top-k")
    folded = review.bounding_box()["height"]
    review.get_by_role("button", name="Show all").click()
    expect(review.get_by_role("button", name="Show less")).to_be_visible()
    assert review.bounding_box()["height"] > 2 * folded


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_on_a_phone(page: Page, service_url: str, scheme: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{service_url}/?entity=breakfast&k=20")
    expect(page.get_by_role("figure")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_shared_link_reproduces_the_view(page: Page, service_url: str) -> None:
    page.goto(service_url)
    expect(page.get_by_role("figure")).to_have_count(3)
    page.get_by_label("Entity").fill("Rooms")
    page.get_by_label("Question").fill("Which floor is best?")
    page.get_by_label("Results").fill("3")
    page.get_by_role("button", name="Compare").click()
    expect(results(page, "WARP")).to_have_count(3)
    link, shown = page.url, results(page, "WARP").all_inner_texts()
    page.goto("about:blank")
    page.goto(link)
    expect(results(page, "WARP")).to_have_text(shown, use_inner_text=True)
    expect(page.get_by_label("Entity")).to_have_value("Rooms")
    expect(page.get_by_label("Question")).to_have_value("Which floor is best?")
    expect(page.get_by_label("Results")).to_have_value("3")


def test_going_back_shows_the_question_before(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?entity=rooms&k=2")
    expect(results(page, "WARP").first).to_contain_text("about rooms")
    page.get_by_label("Entity").fill("spa")
    page.get_by_role("button", name="Compare").click()
    expect(results(page, "WARP").first).to_contain_text("about spa")
    page.go_back()
    expect(results(page, "WARP").first).to_contain_text("about rooms")
    expect(page.get_by_label("Entity")).to_have_value("rooms")


def test_what_is_typed_while_the_page_loads_is_kept(page: Page, service_url: str) -> None:
    held: list[playwright.Route] = []
    page.route("**/entities?*", lambda route: held.append(route))
    with page.expect_request("**/entities?*"):
        page.goto(service_url)
    page.get_by_label("Results").fill("3")
    held[0].continue_()
    expect(results(page, "WARP")).to_have_count(3)


def test_another_collection_brings_its_own_entities_and_scale(page: Page, service_url: str) -> None:
    page.goto(service_url)
    expect(page.get_by_role("figure")).to_have_count(3)
    page.get_by_label("Collection").select_option("kitchens")
    expect(page.get_by_label("Entity")).to_have_value("oven")
    page.get_by_role("button", name="Compare").click()
    shares = figure(page, "Population").get_by_role("img")
    expect(shares).to_have_attribute("aria-label", re.compile(r"^1: \d+%, 2: .*, 5: \d+%$"))


def test_a_question_without_an_entity_says_so(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?q=Is+it+worth+it")
    expect(page.get_by_role("status")).to_contain_text("no known entity")
    expect(results(page, "WARP").filter(has_text="Only here")).to_have_count(0)


def test_an_error_is_shown_and_goes_away(page: Page, service_url: str) -> None:
    page.goto(f"{service_url}/?collection=nowhere")
    expect(page.get_by_role("alert")).to_have_text("there is no collection 'nowhere'")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_be_empty()
    page.get_by_label("Results").fill("501")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_have_text("/k: must be at most 500, got 501")
    expect(page.get_by_role("figure")).to_have_count(0)


def test_an_empty_installation_says_how_to_load_data(page: Page, tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        page.goto(service.url)
        expect(page.get_by_role("heading", name="Nothing to explore yet")).to_be_visible()
        expect(page.get_by_role("button", name="Compare")).to_be_hidden()


def test_a_key_is_asked_for_and_kept_for_the_tab(page: Page, tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_API_KEYS='["secret"]') as service:
        ingest(service, "hotels", DOCUMENTS, authorization="Bearer secret")
        page.goto(service.url)
        expect(page.get_by_label("API key")).to_be_focused()
        page.keyboard.type("guess")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("a known bearer key is needed")
        page.get_by_label("API key").fill("secret")
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("figure")).to_have_count(3)
        expect(page.get_by_label("API key")).to_be_hidden()
        page.reload()
        expect(page.get_by_role("figure")).to_have_count(3)


def test_the_documentation_page_works_under_its_policy(page: Page, console: list[str], service_url: str) -> None:
    page.goto(f"{service_url}/docs")
    expect(page.get_by_role("button", name="POST /rerank Rerank")).to_be_visible()
    expect(page.get_by_role("button", name="Authorize")).to_be_visible()
    assert console == []
