// The explorer page: one question asked twice, plainly and with WARP, and both answers held against the population.
// What the service answers is untrusted text: it enters the page as text nodes only.

const KEY = "warp-api-key";
const FREQUENT = 6;
/** What a population's shares rest on, by the rule that made them. */
const BASES = {
  entity: (n) => opinions(n),
  smoothed: (n) => `${opinions(n)}, smoothed with the collection’s`,
  domain: () => "the whole collection’s opinions",
  uniform: () => "no opinions known: all equal",
};

const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
let opened = { name: null, positions: [], entities: [] }; // the collection in use
let running = new AbortController();

page.compare.addEventListener("submit", (event) => {
  event.preventDefault();
  history.pushState(null, "", address());
  attempt(answerAddress);
});
page.unlock.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, page.key.value);
  attempt(start);
});
page.collection.addEventListener("change", () => attempt(changeCollection));
page.entity.addEventListener("input", showDefaultQuestion);
addEventListener("popstate", () => attempt(answerAddress));
attempt(start);

// Steps

/** Run a step in place of the one before, and show what goes wrong in it. */
async function attempt(step) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  page.error.textContent = "";
  page.status.textContent = "Asking …";
  try {
    await step(signal);
  } catch (error) {
    if (!signal.aborted) showError(error);
  }
}

/** List the collections, then answer the address. */
async function start(signal) {
  const { collections } = await call("collections", signal);
  page.unlock.hidden = true;
  page.empty.hidden = collections.length > 0;
  page.compare.hidden = collections.length === 0;
  page.collection.replaceChildren(...collections.map((name) => new Option(name)));
  if (collections.length) await answerAddress(signal);
  else page.status.textContent = "";
}

/** Fill the form from the address and ask; without a question there, the most frequent entity. */
async function answerAddress(signal) {
  const asked = new URLSearchParams(location.search);
  page.q.value = asked.get("q") ?? "";
  page.k.value = asked.get("k") ?? page.k.defaultValue;
  chooseEntity(asked.get("entity") ?? "");
  await openCollection(asked.get("collection") ?? page.collection.value, signal);
  if (!page.entity.value && !page.q.value) chooseEntity(mostFrequent());
  if (!page.entity.value && !page.q.value) {
    page.status.textContent = "This collection holds no opinions yet. Type a question.";
    return;
  }
  history.replaceState(null, "", address());
  await ask(signal);
}

async function changeCollection(signal) {
  await openCollection(page.collection.value, signal);
  chooseEntity(mostFrequent());
  page.status.textContent = "";
}

/** Load a collection's scale and entities, unless it is open already. */
async function openCollection(name, signal) {
  if (name !== opened.name) {
    const [{ positions }, { entities }] = await Promise.all([
      call(`collections/${encodeURIComponent(name)}`, signal),
      call(`entities?${new URLSearchParams({ collection: name, limit: 1000 })}`, signal),
    ]);
    opened = { name, positions, entities: entities.sort((a, b) => b.n - a.n) };
    page.answer.hidden = true;
    page.entities.replaceChildren(...entities.map(({ entity }) => new Option("", entity)));
    showFrequent();
  }
  page.collection.value = name;
}

/** Ask the form's question, plainly and with WARP, and show both answers. */
async function ask(signal) {
  const entity = page.entity.value;
  const query = page.q.value || defaultQuestion(entity);
  const question = { collection: opened.name, query, k: Number(page.k.value), explain: true };
  if (entity) question.entity = entity;
  const [plain, warp] = await Promise.all([
    call("search", signal, { ...question, variant: "top_k", expansion: "none" }),
    call("search", signal, { ...question, variant: "auto" }),
  ]);
  show(plain, warp);
}

/** What the service answers; an error with its own words when it refuses. */
async function call(path, signal, body) {
  const headers = new Headers(body && { "content-type": "application/json" });
  const key = sessionStorage.getItem(KEY);
  if (key) headers.set("authorization", `Bearer ${key}`);
  const request = { method: body ? "POST" : "GET", headers, signal, body: JSON.stringify(body) };
  const response = await fetch(path, request).catch(() => {
    throw new Error("The service cannot be reached.");
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const message = answer.detail ?? `The service answered ${response.status}.`;
  throw Object.assign(new Error(message), { status: response.status });
}

// The form and the address

function address() {
  const asked = [...new FormData(page.compare)].filter(([, value]) => value);
  return `?${new URLSearchParams(asked)}`;
}

function mostFrequent() {
  return opened.entities[0]?.entity ?? "";
}

function chooseEntity(entity) {
  page.entity.value = entity;
  showDefaultQuestion();
}

function showDefaultQuestion() {
  page.q.placeholder = defaultQuestion(page.entity.value);
}

function defaultQuestion(entity) {
  return entity && `What do people think about ${entity}?`;
}

function showFrequent() {
  const links = opened.entities.slice(0, FREQUENT).map(({ entity, n }) => {
    const link = node("a", "", entity);
    link.href = `?${new URLSearchParams({ collection: opened.name, entity })}`;
    return node("span", "", link, ` (${n})`);
  });
  page.frequent.replaceChildren("Most frequent:", ...links);
}

// Answers

function showError(error) {
  page.status.textContent = "";
  page.answer.hidden = true;
  page.error.textContent = error.message;
  if (error.status !== 401) return;
  page.unlock.hidden = false;
  page.key.focus();
}

function show(plain, warp) {
  page.status.textContent = summary(plain.quality, warp.quality, warp.decision.entity);
  showHistograms(plain, warp);
  page.decision.textContent = decisionSentence(warp.decision);
  page.warnings.replaceChildren(...warp.warnings.map((warning) => node("li", "", warning)));
  page.lists.replaceChildren(
    resultList("Plain top-k", "most like the question", plain, warp),
    resultList("WARP", "chosen to match the population", warp, plain),
  );
  page.answer.hidden = false;
}

function summary(plain, warp, entity) {
  if (entity === null) return "The question names no known entity, so there are no opinions to compare.";
  if (warp.w1 === null) return "No result holds a known opinion, so there is nothing to compare.";
  const before = plain.w1 === null ? "unknown" : tenths(plain.w1);
  return `Distance from the population: ${before} with plain top-k, ${tenths(warp.w1)} with WARP.`;
}

function decisionSentence({ variant, expansion, added, deficit, reason }) {
  const more = expansion === "none" ? "alone" : `and ${added} that ${expansion} expansion added`;
  const short = deficit.map(signed).join(", ") || "none";
  return `WARP chose with ${variant} from the retrieved documents ${more} (opinions in deficit: ${short}): ${reason}.`;
}

// Histograms

function showHistograms(plain, warp) {
  const population = warp.target.distribution;
  const [before, after] = [plain.distributions.selection, warp.distributions.selection];
  const peak = Math.max(...[population, before, after].flatMap(Object.values));
  const basis = BASES[warp.target.rule]?.(warp.target.n) ?? warp.target.rule;
  page.histograms.replaceChildren(
    node("figure", "", caption("Population", basis), plot(population, peak)),
    node("figure", "", caption("Plain top-k", known(plain)), plot(before, peak, population), measures(plain.quality)),
    node("figure", "", caption("WARP", known(warp)), plot(after, peak, population), measures(warp.quality)),
  );
}

function caption(title, note) {
  return node("figcaption", "", node("h3", "", title), node("p", "hint", note));
}

function known({ results }) {
  return `opinions known: ${results.filter(({ si }) => si !== null).length} of ${results.length}`;
}

/** Bars of the shares over the scale, as high as the share is of the peak; with the population's shares as marks. */
function plot(shares, peak, population) {
  const bins = opened.positions.map((position) => {
    const share = shares[position] ?? 0;
    const track = node("div", "track", raised("bar", share / peak));
    if (population) track.append(raised("mark", (population[position] ?? 0) / peak));
    const value = node("div", share ? "" : "hint", percent(share));
    return painted(node("div", "bin", track, node("div", "hint", signed(position)), value), position);
  });
  const chart = node("div", "plot", ...bins);
  const spoken = opened.positions.map((position) => `${signed(position)}: ${percent(shares[position] ?? 0)}`);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", spoken.join(", "));
  return chart;
}

function raised(className, height) {
  const element = node("div", className);
  element.style.height = `${100 * height}%`;
  return element;
}

function measures({ w1, em }) {
  const distance = node("div", "", node("dt", "", "W1"), node("dd", "", w1 === null ? "none" : tenths(w1)));
  return node("dl", "", distance, node("div", "", node("dt", "", "EM"), node("dd", "", percent(em))));
}

// Result lists

function resultList(title, note, answer, other) {
  const elsewhere = new Set(other.results.map(({ id }) => id));
  const items = answer.results.map((result) => resultItem(result, answer.decision.entity, !elsewhere.has(result.id)));
  const heading = node("h2", "", title);
  return node("section", "", heading, node("p", "hint", note), node("ol", "", ...items));
}

function resultItem({ si, text, entity_match: match, origin }, entity, alone) {
  const facts = node("p", "facts hint");
  if (alone) facts.append(node("strong", "", "Only here"));
  if (entity) facts.append(node("span", "", match ? `about ${entity}` : `not about ${entity}`));
  if (origin === "expansion") facts.append(node("span", "", "added by expansion"));
  const review = node("p", "text", text);
  review.dir = "auto";
  facts.append(unfolding(review));
  const opinion = si === null ? node("span", "hint", "none") : node("strong", "opinion", signed(si));
  return painted(node("li", alone ? "result alone" : "result", opinion, node("div", "", review, facts)), si);
}

/** A button that unfolds the text; hidden while nothing of the text is. */
function unfolding(text) {
  const button = node("button", "", "Show all");
  button.addEventListener("click", () => {
    button.textContent = text.classList.toggle("whole") ? "Show less" : "Show all";
  });
  const fit = () => (button.hidden = !text.classList.contains("whole") && text.scrollHeight <= text.clientHeight);
  new ResizeObserver(fit).observe(text);
  return button;
}

// Small things

/** A new element; strings among its children become text, never markup. */
function node(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

/** The element with its side of the scale and how far out it is; the style sheet makes a colour of them. */
function painted(element, position) {
  if (position === null) return element;
  const { low, high, middle } = ends();
  const offset = position - middle;
  element.dataset.side = offset < 0 ? "negative" : offset > 0 ? "positive" : "neutral";
  element.style.setProperty("--strength", `${(100 * Math.abs(offset)) / Math.max(high - middle, middle - low)}%`);
  return element;
}

/** The scale's ends, and its middle: zero where it has two sides. */
function ends() {
  const [low, high] = [opened.positions.at(0), opened.positions.at(-1)];
  return { low, high, middle: low < 0 && high > 0 ? 0 : (low + high) / 2 };
}

function signed(position) {
  if (position < 0) return `−${-position}`;
  return position > 0 && ends().low < 0 ? `+${position}` : `${position}`;
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

function tenths(value) {
  return value.toFixed(1);
}

function opinions(n) {
  return n === 1 ? "1 opinion" : `${n} opinions`;
}
