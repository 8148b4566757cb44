// Keeps the page current: board events over a WebSocket where there is a board, otherwise a look now
// and then while the page is seen. A page brings its regions up to date by asking for itself again.

import { checkToken, page, socket } from "./api.js";
import { morph } from "./morph.js";

const pulse = () => document.querySelector(".pulse");
const listeners = new Set();
let refreshing = null;
let again = false;

function show(state, text) {
  const place = pulse();
  if (!place) return;
  place.dataset.state = state;
  if (place.textContent !== text) place.textContent = text;
}

/** Calls `listener` with every frame of board events. */
export function onEvents(listener) {
  listeners.add(listener);
}

/** Brings every `[data-live]` region up to date; calls made meanwhile become one further refresh. */
export function refresh() {
  if (refreshing) {
    again = true;
    return refreshing;
  }
  refreshing = (async () => {
    do {
      again = false;
      const fresh = await page(location.href);
      for (const region of document.querySelectorAll("[data-live]")) {
        const newer = fresh.getElementById(region.id);
        if (newer) morph(region, document.importNode(newer, true));
      }
      document.dispatchEvent(new CustomEvent("hermes:refreshed"));
    } while (again);
  })().finally(() => {
    refreshing = null;
  });
  return refreshing;
}

let soon = null;
/** Refreshes after a moment, so that a burst of events is one refresh. */
export function refreshSoon(after = 150) {
  if (soon) return;
  soon = setTimeout(() => {
    soon = null;
    refresh().catch(() => show("lost", "offline"));
  }, after);
}

async function watch(board, since) {
  let cursor = since;
  let failures = 0;
  for (;;) {
    let opened = false;
    try {
      const query = new URLSearchParams({ since: String(cursor) });
      if (board) query.set("board", board);
      const connection = await socket(`/api/plugins/kanban/events?${query}`);
      await new Promise((resolve) => {
        connection.onopen = () => {
          opened = true;
          if (failures > 0) refreshSoon();
          failures = 0;
          show("live", "live");
        };
        connection.onmessage = ({ data }) => {
          const frame = JSON.parse(data);
          if (typeof frame.cursor === "number") cursor = frame.cursor;
          if (!frame.events?.length) return;
          for (const listener of listeners) listener(frame.events);
          refreshSoon();
        };
        connection.onclose = resolve;
      });
    } catch {
      // Shown below; the next attempt follows.
    }
    failures += 1;
    show("lost", "reconnecting");
    const pause = Math.min(15_000, 400 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, pause));
    // A server that was restarted has another token; the page is then loaded anew, once.
    if (!opened || failures > 0) await checkToken();
  }
}

function look(seconds) {
  let lost = false;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      await refresh();
      if (lost) await checkToken();
      lost = false;
      show("live", "live");
    } catch {
      lost = true;
      show("lost", "offline");
    }
  }, seconds * 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refreshSoon();
  });
  show("live", "live");
}

export function start() {
  const { board, events, refresh: seconds } = document.body.dataset;
  if (events !== undefined) watch(board, Number(events) || 0);
  else if (seconds) look(Number(seconds));
}
