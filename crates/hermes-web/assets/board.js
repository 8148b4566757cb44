// The board: filters, moving cards by pointer and keyboard, choosing many, and the drawer of a card.

import { base, call, page } from "./api.js";
import { fail, sure, toast } from "./app.js";
import { onEvents, refresh } from "./live.js";
import { morph } from "./morph.js";

const board = document.body.dataset.board;
const query = board ? `?board=${encodeURIComponent(board)}` : "";
const task = (id, rest = "") => `/api/plugins/kanban/tasks/${encodeURIComponent(id)}${rest}${query}`;
const columns = document.getElementById("columns");
const announcer = document.getElementById("announce");
const picked = new Set();

function announce(text) {
  announcer.textContent = "";
  requestAnimationFrame(() => { announcer.textContent = text; });
}

const cardOf = (id) => document.getElementById(`card-${id}`);
const columnOf = (card) => card.closest(".column");
const labelOf = (column) => column.querySelector("h2").textContent;

// --- Filters ---------------------------------------------------------------------------------------

const filters = document.getElementById("filters");

function filter() {
  const text = filters.elements.q.value.trim().toLowerCase();
  const who = filters.elements.assignee.value;
  const tenant = filters.elements.tenant?.value ?? "";
  const trouble = filters.elements.trouble.checked;
  for (const column of columns.querySelectorAll(".column")) {
    let shown = 0;
    for (const card of column.querySelectorAll(".card")) {
      const fits = (!text || card.dataset.text.includes(text))
        && (!who || card.dataset.assignee === (who === "-" ? "" : who))
        && (!tenant || card.dataset.tenant === tenant)
        && (!trouble || card.dataset.trouble === "1");
      if (card.hidden === fits) card.hidden = !fits;
      if (fits) shown += 1;
    }
    const all = column.querySelectorAll(".card").length;
    const count = shown === all ? String(all) : `${shown} of ${all}`;
    const place = column.querySelector(".count");
    if (place.textContent !== count) place.textContent = count;
    column.querySelector(".none").hidden = shown > 0;
  }
}

filters.addEventListener("input", filter);
filters.addEventListener("submit", (event) => event.preventDefault());

// --- Moving ----------------------------------------------------------------------------------------

async function reasonForBlock() {
  const dialog = document.getElementById("block");
  dialog.querySelector("textarea").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes" ? dialog.querySelector("textarea").value.trim() : null;
}

async function move(taken, column) {
  // The board may have been drawn anew since the card was taken, and while somebody is asked.
  const { id } = taken.dataset;
  const current = () => (taken.isConnected ? taken : cardOf(id));
  const from = current() && columnOf(current());
  if (!from || !column || column === from) return;
  const status = column.dataset.status;
  if (column.dataset.closed) {
    toast(column.dataset.closed, "bad");
    return;
  }
  const body = { status };
  if (status === "blocked") {
    const reason = await reasonForBlock();
    if (reason === null) return;
    if (reason) body.block_reason = reason;
  }
  if (from.dataset.status === "running" && !(await sure("A worker holds this card. Moving it ends that attempt.", "Move it"))) return;
  const card = current();
  if (!card) return;
  const hadFocus = card.contains(document.activeElement);
  column.querySelector("ul").prepend(card);
  filter();
  if (hadFocus) card.focus();
  announce(`${card.dataset.title} moved to ${labelOf(column)}`);
  try {
    const answer = await call("PATCH", task(id), body);
    if (answer?.warning) toast(answer.warning);
  } catch (error) {
    fail(error);
    announce(`Not moved: ${error.message}`);
  }
  await refresh().catch(fail);
}

let drag = null;

columns.addEventListener("pointerdown", (event) => {
  const card = event.target.closest(".card");
  if (!card || event.button !== 0 || event.target.closest("input, button")) return;
  drag = { card, id: event.pointerId, x: event.clientX, y: event.clientY, ghost: null, hold: null };
  if (event.pointerType === "touch") {
    // A touch scrolls; holding still picks the card up.
    drag.waiting = true;
    drag.hold = setTimeout(() => { if (drag) { drag.waiting = false; lift(); } }, 350);
  }
});

function lift() {
  const { card } = drag;
  const box = card.getBoundingClientRect();
  drag.dx = drag.x - box.left;
  drag.dy = drag.y - box.top;
  drag.ghost = card.cloneNode(true);
  drag.ghost.removeAttribute("id");
  drag.ghost.classList.add("ghost");
  drag.ghost.style.width = `${box.width}px`;
  drag.ghost.setAttribute("aria-hidden", "true");
  document.body.append(drag.ghost);
  card.classList.add("dragging");
  card.dataset.local = "1";
  follow(drag.x, drag.y);
}

function follow(x, y) {
  drag.ghost.style.left = `${x - drag.dx}px`;
  drag.ghost.style.top = `${y - drag.dy}px`;
  const over = document.elementFromPoint(x, y)?.closest(".column") ?? null;
  if (over !== drag.over) {
    drag.over?.classList.remove("over");
    drag.over = over;
    if (over && over !== columnOf(drag.card) && !over.dataset.closed) over.classList.add("over");
  }
  const edge = columns.getBoundingClientRect();
  if (x > edge.right - 40) columns.scrollLeft += 14;
  if (x < edge.left + 40) columns.scrollLeft -= 14;
}

function drop() {
  clearTimeout(drag.hold);
  drag.ghost?.remove();
  drag.over?.classList.remove("over");
  drag.card.classList.remove("dragging");
  delete drag.card.dataset.local;
  const { ghost, over, card } = drag;
  drag = null;
  return ghost ? { card, over } : null;
}

window.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.id) return;
  const far = Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 6;
  if (drag.waiting) {
    if (far) drop();
    return;
  }
  if (!drag.ghost) {
    if (!far) return;
    lift();
  }
  event.preventDefault();
  follow(event.clientX, event.clientY);
}, { passive: false });

window.addEventListener("pointerup", (event) => {
  if (!drag || event.pointerId !== drag.id) return;
  const dropped = drop();
  if (!dropped) return;
  suppressClick();
  if (dropped.over) move(dropped.card, dropped.over);
});
window.addEventListener("pointercancel", () => { if (drag) drop(); });
window.addEventListener("touchmove", (event) => { if (drag?.ghost) event.preventDefault(); }, { passive: false });
document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".card")) event.preventDefault(); });

function suppressClick() {
  const stop = (event) => { event.preventDefault(); event.stopPropagation(); };
  window.addEventListener("click", stop, { capture: true, once: true });
  setTimeout(() => window.removeEventListener("click", stop, { capture: true }), 0);
}

// --- Keyboard --------------------------------------------------------------------------------------

const visible = (column) => [...column.querySelectorAll(".card:not([hidden])")];

columns.addEventListener("keydown", (event) => {
  const card = event.target.closest(".card");
  if (!card || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape" && drag) drop();
    return;
  }
  const all = [...columns.querySelectorAll(".column")];
  const at = all.indexOf(columnOf(card));
  const cards = visible(all[at]);
  const index = cards.indexOf(card);
  const sideways = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (event.key === "ArrowDown") (cards[index + 1] ?? card).focus();
  else if (event.key === "ArrowUp") (cards[index - 1] ?? card).focus();
  else if (sideways && event.shiftKey) {
    let to = at + sideways;
    while (all[to]?.dataset.closed) to += sideways;
    move(card, all[to]);
  } else if (sideways) {
    for (let to = at + sideways; all[to]; to += sideways) {
      const there = visible(all[to]);
      if (there.length) {
        there[Math.min(index, there.length - 1)].focus();
        break;
      }
    }
  } else if (event.key === "Enter" && event.target === card) openCard(card.dataset.id);
  else if (event.key === "x") togglePick(card);
  else return;
  event.preventDefault();
});

// --- Many at once ----------------------------------------------------------------------------------

const bulk = document.getElementById("bulk");

function showPicked() {
  for (const card of columns.querySelectorAll(".card")) {
    const is = picked.has(card.dataset.id);
    card.classList.toggle("picked", is);
    card.querySelector(".pick").checked = is;
  }
  for (const id of [...picked]) if (!cardOf(id)) picked.delete(id);
  columns.classList.toggle("picking", picked.size > 0);
  bulk.hidden = picked.size === 0;
  document.getElementById("picked").textContent = picked.size === 1 ? "1 card" : `${picked.size} cards`;
}

function togglePick(card) {
  const { id } = card.dataset;
  if (!picked.delete(id)) picked.add(id);
  showPicked();
}

columns.addEventListener("change", (event) => {
  if (event.target.matches(".pick")) togglePick(event.target.closest(".card"));
});

async function applyToAll(change) {
  try {
    const answer = await call("POST", `/api/plugins/kanban/tasks/bulk${query}`, { ids: [...picked], ...change });
    const failed = (answer?.results ?? []).filter((one) => !one.ok);
    for (const one of failed.slice(0, 3)) toast(`${one.id}: ${one.error}`, "bad");
    if (failed.length > 3) toast(`${failed.length - 3} further cards were not changed.`, "bad");
    if (!failed.length) toast(picked.size === 1 ? "Changed 1 card." : `Changed ${picked.size} cards.`);
    picked.clear();
    await refresh();
  } catch (error) {
    fail(error);
  }
  showPicked();
}

bulk.addEventListener("submit", (event) => {
  event.preventDefault();
  const { status, assignee } = bulk.elements;
  const change = {};
  if (status.value) change.status = status.value;
  if (assignee.value) change.assignee = assignee.value === "-" ? "" : assignee.value;
  if (!Object.keys(change).length) {
    toast("Choose a column or an assignee first.", "bad");
    return;
  }
  applyToAll(change);
});
document.getElementById("bulk-archive").addEventListener("click", async () => {
  if (await sure(`Archive ${picked.size} card(s)? Archived cards leave the board and can be brought back.`, "Archive")) {
    applyToAll({ archive: true });
  }
});
document.getElementById("bulk-none").addEventListener("click", () => { picked.clear(); showPicked(); });

// --- The drawer ------------------------------------------------------------------------------------

const drawer = document.getElementById("drawer");
const inside = drawer.querySelector(".inner");
let open = null;

async function load(id) {
  const fresh = (await page(`${base}/board/${encodeURIComponent(id)}${query}`)).getElementById("sheet");
  if (open !== id) return;
  if (!fresh) throw new Error("The card could not be shown.");
  const shown = document.getElementById("sheet");
  if (shown && shown.dataset.id === id) morph(shown, document.importNode(fresh, true));
  else {
    inside.replaceChildren(document.importNode(fresh, true));
    inside.querySelector("[data-close]")?.focus();
  }
  followLog();
}

async function openCard(id) {
  open = id;
  if (!drawer.open) drawer.showModal();
  try {
    await load(id);
    history.replaceState(null, "", `#${id}`);
  } catch (error) {
    drawer.close();
    fail(error);
  }
}

drawer.addEventListener("close", () => {
  const id = open;
  open = null;
  inside.replaceChildren();
  history.replaceState(null, "", location.pathname + location.search);
  if (id) cardOf(id)?.focus();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-card]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  openCard(link.dataset.card);
});

document.addEventListener("hermes:changed", () => { if (open) load(open).catch(fail); });
onEvents((events) => {
  if (open && events.some((event) => event.task_id === open)) load(open).catch(() => {});
});

// The log of a running attempt grows without events; it is read again while it is looked at.
let tail = null;
function followLog() {
  clearTimeout(tail);
  const place = document.getElementById("worker-log");
  if (!open || !place || !place.dataset.running) return;
  const id = open;
  tail = setTimeout(async () => {
    const box = document.getElementById("follow-log");
    if (open !== id) return;
    try {
      if (!document.hidden && box?.checked !== false) {
        const answer = await call("GET", task(id, "/log") + (query ? "&" : "?") + "tail=32768");
        if (place.textContent !== answer.content) {
          const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
          place.textContent = answer.content ?? "";
          if (atEnd) place.scrollTop = place.scrollHeight;
        }
      }
    } catch {
      // The next look tells.
    }
    followLog();
  }, 1500);
}

document.addEventListener("hermes:refreshed", () => { filter(); showPicked(); });
document.getElementById("boards")?.addEventListener("change", ({ target }) => {
  location.assign(`${base}/board?board=${encodeURIComponent(target.value)}`);
});
filter();
showPicked();
if (/^#t_[0-9a-z]+$/.test(location.hash)) openCard(location.hash.slice(1));
