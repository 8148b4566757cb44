// Starts every page: theme, keyboard, dialogs, forms that speak to the API, and the page's own module.

import { ApiError, base, call } from "./api.js";
import * as live from "./live.js";

/** Says something at the edge of the page, and to screen readers. */
export function toast(text, kind = "ok") {
  const place = document.getElementById("toasts");
  const box = document.createElement("div");
  box.className = `toast ${kind}`;
  const said = document.createElement("p");
  said.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "plain small";
  close.textContent = "Dismiss";
  close.addEventListener("click", () => box.remove());
  box.append(said, close);
  place.append(box);
  while (place.children.length > 4) place.firstElementChild.remove();
  if (kind !== "bad") setTimeout(() => box.remove(), 6000);
}

export function fail(error) {
  if (error?.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error);
  toast(error?.message ?? String(error), "bad");
}

/** Asks before something that cannot be taken back. */
export function sure(question, verb = "Continue") {
  const dialog = document.getElementById("sure");
  dialog.querySelector("p").textContent = question;
  const yes = dialog.querySelector("button[value=yes]");
  yes.textContent = verb;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function value(field) {
  const type = field.dataset.type;
  if (field.type === "checkbox") return field.checked;
  const text = field.value;
  if (type === "number") return text.trim() === "" ? null : Number(text);
  if (type === "list") return text.split(/[\n,]/).map((one) => one.trim()).filter(Boolean);
  if (type === "optional") return text.trim() === "" ? null : text;
  return text;
}

/** What a form says, as an object; fields that were left empty and may be, are left out. */
export function formBody(form) {
  const body = form.dataset.body ? JSON.parse(form.dataset.body) : {};
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    if (field.type === "radio" && !field.checked) continue;
    const said = value(field);
    if (said === null && field.dataset.type) continue;
    body[field.name] = said;
  }
  return body;
}

async function done(what, element, answer) {
  const note = element.dataset.note;
  if (note) toast(note);
  if (answer?.warning) toast(answer.warning);
  if (what === "reload") return location.reload();
  if (what?.startsWith("goto:")) return location.assign(base + what.slice(5));
  element.closest("dialog:not(.drawer)")?.close();
  if (element.localName === "form" && !element.hasAttribute("data-fixed")) element.reset();
  await live.refresh();
  document.dispatchEvent(new CustomEvent("hermes:changed", { detail: answer }));
}

async function act(element, body) {
  const [method, path] = element.dataset.api.split(" ");
  const question = element.dataset.confirm;
  if (question && !(await sure(question, element.dataset.verb))) return;
  const buttons = element.localName === "form" ? [...element.querySelectorAll("button")] : [element];
  for (const button of buttons) button.disabled = true;
  const wrong = element.querySelector?.(".wrong");
  if (wrong) wrong.textContent = "";
  try {
    const answer = await call(method, path, body);
    await done(element.dataset.done, element, answer);
  } catch (error) {
    if (wrong && error instanceof ApiError) wrong.textContent = error.message;
    else fail(error);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.api) return;
  event.preventDefault();
  act(form, formBody(form));
});

document.addEventListener("input", ({ target }) => {
  if (target.matches?.("input, textarea, select")) target.dataset.changed = "1";
});

document.addEventListener("reset", ({ target }) => {
  for (const field of target.elements) delete field.dataset.changed;
});

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("[data-api], [data-open], [data-close], [data-theme-switch], [data-copy]");
  if (!target || target.localName === "form") return;
  if (target.dataset.api) {
    act(target, target.dataset.body ? JSON.parse(target.dataset.body) : undefined);
  } else if (target.dataset.open) {
    const dialog = document.getElementById(target.dataset.open);
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  } else if (target.dataset.close !== undefined) {
    target.closest("dialog").close();
  } else if (target.dataset.copy) {
    navigator.clipboard?.writeText(target.dataset.copy).then(() => toast("Copied."), fail);
  } else if (target.dataset.themeSwitch !== undefined) {
    switchTheme();
  }
});

// A change of a choice acts at once where the page says so.
document.addEventListener("change", ({ target }) => {
  if (target.matches?.("[data-submit]")) target.form.requestSubmit();
  if (target.dataset?.apiChange) {
    const [method, path] = target.dataset.apiChange.split(" ");
    const body = JSON.parse(target.dataset.body ?? "{}");
    body[target.name] = target.type === "checkbox" ? target.checked : target.value;
    call(method, path, body).then(() => {
      delete target.dataset.changed;
      toast(target.dataset.note ?? "Saved.");
      return live.refresh();
    }).catch((error) => {
      if (target.type === "checkbox") target.checked = !target.checked;
      fail(error);
    });
  }
});

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem("hermes-theme", root.dataset.theme);
  } catch {
    // The choice then lasts as long as the page.
  }
}

// Keyboard: `g` and a letter go to a page, `/` to the search, `?` shows all of it.
let going = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const isGoing = Date.now() - going < 1200;
  going = 0;
  if (isGoing) {
    const link = document.querySelector(`.side a[data-go="${CSS.escape(event.key)}"]`);
    if (link) {
      event.preventDefault();
      location.assign(link.href);
    }
  } else if (event.key === "g") {
    going = Date.now();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  } else if (event.key === "?") {
    document.getElementById("help").showModal();
  } else if (event.key === "n") {
    document.querySelector("[data-new]")?.click();
  }
});

// Times are written by the server in its zone; here they become the reader's, and stay in place.
function times() {
  const now = Date.now() / 1000;
  for (const time of document.querySelectorAll("time[data-at]")) {
    const at = Number(time.dataset.at);
    if (!time.title) time.title = new Date(at * 1000).toLocaleString();
    const text = ago(now - at);
    if (time.textContent !== text) time.textContent = text;
  }
}

export function ago(seconds) {
  const past = Math.abs(seconds);
  const text = past < 60 ? `${Math.floor(past)} s`
    : past < 3600 ? `${Math.floor(past / 60)} min`
    : past < 172_800 ? `${Math.floor(past / 3600)} h`
    : `${Math.floor(past / 86_400)} d`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

document.addEventListener("hermes:refreshed", times);
setInterval(() => { if (!document.hidden) times(); }, 15_000);
times();

for (const dialog of document.querySelectorAll("dialog")) {
  // A click beside a dialog closes it.
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

// Pages whose behaviour is more than links and forms.
const own = document.body.dataset.module;
// Those modules import this one, so it does not wait for them.
(own ? import(`./${own}.js`) : Promise.resolve()).catch(fail).finally(() => {
  live.start();
  document.documentElement.dataset.ready = "1";
});
