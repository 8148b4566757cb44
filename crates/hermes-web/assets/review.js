// The review of a card's work: comments on lines by pointer and keyboard. What is sent and what comes
// back goes through the forms of every page.

const review = () => document.getElementById("review");
// What was looked at: the verdict is about this, whatever has changed since.
const seen = review().dataset.fingerprint;
const fileOf = (element) => element.closest(".file");
const pins = (file) => [...file.querySelectorAll(".pin")];
const numberOf = (pin) => Number(pin.dataset.line);
let anchor = null;

/** The lines from one pin to another of the same file and side. */
function between(from, to) {
  const all = pins(fileOf(to)).filter((pin) => pin.dataset.side === to.dataset.side);
  const [first, last] = [all.indexOf(from), all.indexOf(to)].sort((a, b) => a - b);
  return first < 0 ? [to] : all.slice(first, last + 1);
}

function mark(chosen) {
  for (const row of review().querySelectorAll("tr.chosen")) row.classList.remove("chosen");
  for (const pin of chosen) pin.closest("tr").classList.add("chosen");
}

function chosenWith(pin, extends_) {
  const fits = extends_ && anchor?.isConnected && fileOf(anchor) === fileOf(pin) && anchor.dataset.side === pin.dataset.side;
  if (!fits) anchor = pin;
  const chosen = between(anchor, pin);
  mark(chosen);
  return chosen;
}

function focusPin(pin) {
  for (const one of pins(fileOf(pin))) one.tabIndex = one === pin ? 0 : -1;
  pin.focus();
  pin.scrollIntoView({ block: "nearest" });
}

function write(chosen) {
  closeEmpty();
  const first = chosen[0];
  const last = chosen[chosen.length - 1];
  const form = document.getElementById("remark-form").content.firstElementChild.cloneNode(true);
  const { apiPath, query } = review().dataset;
  form.dataset.api = `POST ${apiPath}/review/comments${query}`;
  form.dataset.body = JSON.stringify({
    file: fileOf(first).dataset.file,
    side: first.dataset.side,
    first_line: numberOf(first),
    last_line: numberOf(last),
  });
  const lines = chosen.length > 1 ? `lines ${numberOf(first)} to ${numberOf(last)}` : `line ${numberOf(first)}`;
  form.querySelector(".where").textContent = `On ${lines}${first.dataset.side === "old" ? ", as before" : ""}`;
  const row = document.createElement("tr");
  row.className = "thread";
  row.dataset.localOnly = "";
  const cell = document.createElement("td");
  cell.colSpan = 4;
  cell.append(form);
  row.append(cell);
  let after = last.closest("tr");
  while (after.nextElementSibling?.matches(".thread")) after = after.nextElementSibling;
  after.after(row);
  form.elements.body.focus();
}

function close(row) {
  const pin = row.previousElementSibling?.closest("tbody")?.querySelector("tr.chosen .pin");
  row.remove();
  mark([]);
  (pin ?? anchor)?.focus();
}

/** Forms in which nothing was written do not stay. */
function closeEmpty() {
  for (const row of review().querySelectorAll("tr.thread[data-local-only]")) {
    if (!row.querySelector("textarea").value.trim()) row.remove();
  }
}

document.addEventListener("click", (event) => {
  const pin = event.target.closest?.(".pin");
  if (pin) {
    focusPin(pin);
    write(chosenWith(pin, event.shiftKey));
  } else if (event.target.closest?.("[data-cancel]")) {
    close(event.target.closest("tr.thread"));
  }
});

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const form = target.closest?.("tr.thread[data-local-only]");
  if (form && key === "Escape") {
    close(form);
  } else if (target.matches?.("textarea") && key === "Enter" && (event.ctrlKey || event.metaKey)) {
    target.form.requestSubmit();
  } else if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
    return;
  } else if (target.matches?.(".pin") && (key === "ArrowDown" || key === "ArrowUp")) {
    const all = pins(review());
    const next = all[all.indexOf(target) + (key === "ArrowDown" ? 1 : -1)];
    if (next) {
      if (event.shiftKey && !anchor) anchor = target;
      focusPin(next);
      chosenWith(next, event.shiftKey);
    }
  } else if (target.matches?.(".pin") && key === "Enter") {
    write(chosenWith(target, Boolean(anchor) && target.closest("tr").classList.contains("chosen")));
  } else if ((key === "]" || key === "[") && !target.matches?.("input, textarea, select")) {
    const files = [...review().querySelectorAll(".file")];
    const at = files.indexOf(fileOf(target) ?? null);
    const next = files[key === "]" ? at + 1 : Math.max(at, 1) - 1];
    next?.scrollIntoView({ block: "start" });
    const pin = next?.querySelector(".pin");
    if (pin) focusPin(pin);
  } else {
    return;
  }
  event.preventDefault();
});

// A comment that was made stands in the page by now; its form goes.
let sent = null;
document.addEventListener("submit", ({ target }) => {
  sent = target.closest("tr.thread[data-local-only]");
});
document.addEventListener("hermes:changed", ({ detail }) => {
  if (detail?.comment && sent) {
    sent.remove();
    sent = null;
    mark([]);
    anchor?.focus();
  }
});
document.addEventListener("hermes:refreshed", () => {
  document.getElementById("changed").hidden = review().dataset.fingerprint === seen;
});
