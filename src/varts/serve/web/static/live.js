// What the pages of varts serve do beyond HTML. All of them work without it.
// 1. Parts marked data-live are refreshed, but never while you read, select or open them.
// 2. Actions that ask first do so in a dialog.
// 3. The picture of a prior follows what you type.
// 4. Times are shown in your own time zone; the page has them in UTC.
"use strict";

// ------------------------------------------------------------------ 1. what changes by itself

const SOON = 5000, LATE = 60000; // ms: how long to wait, at first and while nothing changes
let wait = SOON, tag = null, timer = null;
const live = () => [...document.querySelectorAll("[data-live]")];

function inUse(part) {
  const selection = getSelection();
  const selected = selection && !selection.isCollapsed && selection.rangeCount
    && selection.getRangeAt(0).intersectsNode(part);
  return selected || part.contains(document.activeElement) || part.querySelector("details[open], dialog[open]");
}

async function refresh() {
  timer = null;
  if (document.hidden || document.querySelector("dialog[open]")) return plan();
  try {
    // The answer to a refused form has the form's address, where there is nothing to read.
    const address = document.querySelector("main").dataset.address || location.href;
    const answer = await fetch(address, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.redirected || answer.status === 401 || answer.status === 403) return say("Reload to log in again.");
    if (answer.status === 304) return plan(2 * wait);
    if (!answer.ok) throw new Error(answer.statusText);
    const [changed, skipped] = replaceParts(await answer.text());
    tag = skipped ? null : answer.headers.get("ETag"); // come back for parts that were in use
    say("");
    plan(changed ? SOON : 2 * wait);
  } catch {
    say("The service doesn't respond; these numbers may be out of date.");
    plan(2 * wait);
  }
}

function replaceParts(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  showLocalTimes(fresh);
  let changed = false, skipped = false;
  for (const part of live()) {
    const other = part.id && fresh.getElementById(part.id);
    if (!other || other.isEqualNode(part)) continue;
    if (inUse(part)) { skipped = true; continue; }
    part.replaceWith(document.adoptNode(other));
    changed = true;
  }
  return [changed, skipped];
}

function plan(next = wait) {
  wait = Math.min(Math.max(next, SOON), LATE);
  clearTimeout(timer);
  timer = setTimeout(refresh, wait);
}

function say(text) {
  let state = document.querySelector(".live-state");
  if (!state) {
    if (!text) return;
    state = document.createElement("p");
    state.className = "live-state";
    state.setAttribute("role", "status");
    document.querySelector("main").append(state);
  }
  state.textContent = text;
  state.hidden = !text;
}

if (live().length) {
  plan(SOON);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) plan(SOON); });
}

// ------------------------------------------------------------------ 2. dialogs

document.addEventListener("click", (event) => {
  const summary = event.target.closest(".action > summary");
  if (summary) {
    event.preventDefault();
    ask(summary);
  } else if (event.target.closest("[data-cancel]")) {
    event.target.closest("dialog").close();
  }
});

function ask(summary) {
  const home = summary.parentElement, form = home.querySelector("form");
  const dialog = document.createElement("dialog"), title = document.createElement("h2");
  title.textContent = summary.textContent.replace("…", "");
  title.id = "dialog-title";
  dialog.setAttribute("aria-labelledby", title.id);
  form.querySelector("[data-cancel]").hidden = false;
  dialog.append(title, form);
  document.querySelector("main").append(dialog);
  dialog.addEventListener("close", () => { home.append(form); dialog.remove(); summary.focus(); });
  dialog.showModal();
}

// ------------------------------------------------------------------ 3. the picture of a prior

for (const words of document.querySelectorAll("[data-prior]")) {
  let typing = null, latest = 0;
  words.addEventListener("input", () => {
    const choice = document.querySelector('[name="knowledge"][value="words"]');
    if (choice) choice.checked = true;
    clearTimeout(typing);
    typing = setTimeout(() => draw(words, ++latest, () => latest), 250);
  });
}

async function draw(words, mine, latest) {
  const fields = [...words.querySelectorAll("input")];
  if (fields.some((field) => !field.value.trim())) return;
  const query = new URLSearchParams(fields.map((field) => [field.name, field.value]));
  const answer = await fetch(`${words.dataset.prior}?${query}`).catch(() => null);
  if (!answer || mine !== latest()) return; // you have typed something else since
  const said = words.querySelector("[data-said]");
  if (!answer.ok) {
    said.textContent = "These numbers don't make a prior: all but the mean must be above 0.";
    return;
  }
  const svg = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
  words.querySelector("[data-picture]").replaceChildren(document.adoptNode(svg));
  said.textContent = svg.querySelector("title").textContent;
}

// ------------------------------------------------------------------ 4. times

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[data-clock]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = time.textContent;
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}

showLocalTimes(document);
