// A conversation: what is sent becomes a run on the server, whose events are read as a stream. The run
// goes on without this page; a page that comes back reads it from where it stopped.

import { base, call, headers } from "./api.js";
import { fail, toast } from "./app.js";

const turns = document.getElementById("turns");
const form = document.getElementById("say");
const text = document.getElementById("text");
const stop = document.getElementById("stop");
const send = document.getElementById("send");
const state = document.getElementById("state");
const picker = document.getElementById("images");
const thumbs = document.getElementById("thumbs");
const MOST_IMAGES = 6 << 20;

let session = turns.dataset.session;
let run = null;
let images = [];

function element(name, className, content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined) made.textContent = content;
  return made;
}

const isAtEnd = () => turns.scrollHeight - turns.scrollTop - turns.clientHeight < 80;
function put(where, what) {
  const stay = isAtEnd();
  where.append(what);
  if (stay) turns.scrollTop = turns.scrollHeight;
}

function turn(role, by) {
  document.getElementById("nothing")?.remove();
  const box = element("div", `turn ${role}`);
  box.append(element("div", "by", by));
  put(turns, box);
  return box;
}

/** What an answer looks like while it comes in. */
class Answer {
  constructor() {
    this.box = turn("assistant", "Hermes");
    this.said = null;
    this.calls = new Map();
    this.asks = [];
  }

  add(delta) {
    if (!this.said) {
      this.said = element("div", "said");
      put(this.box, this.said);
    }
    const stay = isAtEnd();
    this.said.append(delta);
    if (stay) turns.scrollTop = turns.scrollHeight;
  }

  begin({ tool_call_id: id, tool, preview }) {
    this.said = null;
    const box = element("details", "call");
    const head = element("summary");
    const mark = element("span", "tag info", "running");
    head.append(element("strong", "", tool), element("span", "what clip grow", preview ?? ""), mark);
    box.append(head, element("pre", "", preview ?? ""));
    this.calls.set(id, { box, mark });
    put(this.box, box);
  }

  end({ tool_call_id: id, duration, error }) {
    const found = this.calls.get(id);
    if (!found) return;
    found.mark.className = error ? "tag bad" : "tag ok";
    found.mark.textContent = `${error ? "failed" : "done"}, ${Number(duration ?? 0).toFixed(1)} s`;
  }

  think(what) {
    const box = element("details", "call");
    const head = element("summary");
    head.append(element("strong", "", "Thoughts"));
    box.append(head, element("pre", "", what));
    put(this.box, box);
  }

  ask(event) {
    const box = element("div", "ask");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Approval");
    box.append(element("strong", "", event.description || "This command needs your approval."));
    if (event.command) box.append(element("pre", "", event.command));
    const row = element("div", "row");
    const offered = event.choices ?? ["once", "session", "always", "deny"];
    const labels = { once: "Approve once", session: "For this conversation", always: "Always", deny: "Deny" };
    for (const choice of offered) {
      const button = element("button", choice === "once" ? "primary" : choice === "deny" ? "danger" : "", labels[choice] ?? choice);
      button.type = "button";
      button.dataset.choice = choice;
      button.addEventListener("click", () => this.decide(choice));
      row.append(button);
    }
    box.append(row);
    this.asks.push(box);
    put(this.box, box);
    row.querySelector("button")?.focus();
    state.textContent = "Waits for your approval.";
  }

  async decide(choice) {
    for (const button of this.box.querySelectorAll(".ask button")) button.disabled = true;
    try {
      await call("POST", `/api/chat/runs/${run}/approval`, { choice });
    } catch (error) {
      fail(error);
      for (const button of this.box.querySelectorAll(".ask button")) button.disabled = false;
    }
  }

  decided(choice) {
    const said = { once: "Approved once.", session: "Approved for this conversation.", always: "Approved from now on.", deny: "Denied." };
    for (const box of this.asks) box.replaceWith(element("p", "quiet", said[choice] ?? "Answered."));
    this.asks = [];
    state.textContent = "Working …";
    text.focus();
  }

  failed(message) {
    const box = element("div", "trouble");
    box.setAttribute("role", "alert");
    box.append(element("strong", "", "The turn failed. "), message || "The log has the reason.");
    put(this.box, box);
  }
}

function working(is) {
  stop.hidden = !is;
  send.disabled = is;
  state.textContent = is ? "Working …" : "";
}

/** Reads the events of a run until its end. A connection that breaks is continued where it stopped. */
async function follow(id) {
  const answer = new Answer();
  let last = 0;
  let failures = 0;
  run = id;
  working(true);
  remember();
  while (run === id) {
    try {
      const response = await fetch(`${base}/api/chat/runs/${id}/events`, {
        headers: headers(last ? { "Last-Event-ID": String(last) } : {}),
        credentials: "same-origin",
      });
      if (response.status === 404) throw new Error("This turn is no longer known.");
      if (!response.ok) throw new Error(`The server answered ${response.status}.`);
      failures = 0;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const fields = Object.fromEntries(block.split("\n").filter((line) => !line.startsWith(":")).map((line) => {
            const at = line.indexOf(":");
            return [line.slice(0, at), line.slice(at + 1).trimStart()];
          }));
          if (fields.id) last = Number(fields.id);
          if (fields.data && heard(answer, JSON.parse(fields.data))) {
            run = null;
            break;
          }
        }
        if (run !== id) break;
      }
      reader.cancel().catch(() => {});
    } catch (error) {
      failures += 1;
      if (failures > 6) {
        answer.failed(error.message);
        run = null;
      }
    }
    if (run === id) await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 250 * 2 ** failures)));
  }
  working(false);
  remember();
}

/** Takes one event in; `true` if it is the last. */
function heard(answer, event) {
  switch (event.event) {
    case "message.delta": answer.add(event.delta); return false;
    case "reasoning.available": answer.think(event.text); return false;
    case "tool.started": answer.begin(event); return false;
    case "tool.completed": answer.end(event); return false;
    case "approval.request": answer.ask(event); return false;
    case "approval.responded": answer.decided(event.choice); return false;
    case "run.completed":
      if (!answer.box.querySelector(".said") && event.output) answer.add(event.output);
      return true;
    case "run.cancelled": put(answer.box, element("p", "quiet", "Stopped.")); return true;
    case "run.failed": answer.failed(event.error); return true;
    default: return false;
  }
}

function remember() {
  const url = new URL(location.href);
  if (session) url.searchParams.set("session", session);
  if (run) url.searchParams.set("run", run);
  else url.searchParams.delete("run");
  history.replaceState(null, "", url);
}

function content(said) {
  if (!images.length) return said;
  const parts = images.map((image) => ({ type: "input_image", image_url: image }));
  if (said) parts.unshift({ type: "input_text", text: said });
  return [{ role: "user", content: parts }];
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = text.value.trim();
  if (run || (!said && !images.length)) return;
  if (!session) session = `web_${crypto.randomUUID?.().replaceAll("-", "") ?? Math.random().toString(16).slice(2) + Date.now().toString(16)}`;
  send.disabled = true;
  try {
    const { run_id: id } = await call("POST", "/api/chat/runs", { input: content(said), session_id: session });
    const box = turn("user", "You");
    const bubble = element("div", "said", said);
    for (const image of images) {
      const shown = element("img");
      shown.src = image;
      shown.alt = "An image that was sent";
      bubble.append(shown);
    }
    box.append(bubble);
    turns.scrollTop = turns.scrollHeight;
    text.value = "";
    images = [];
    thumbs.replaceChildren();
    await follow(id);
  } catch (error) {
    fail(error);
    send.disabled = false;
  }
  text.focus();
});

text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

stop.addEventListener("click", () => {
  if (run) call("POST", `/api/chat/runs/${run}/stop`, {}).catch(fail);
});

async function take(files) {
  for (const file of files) {
    if (!file.type.startsWith("image/")) continue;
    if (images.reduce((sum, image) => sum + image.length * 0.75, 0) + file.size > MOST_IMAGES) {
      toast(`${file.name} was left out: images may have 6 MB together.`, "bad");
      continue;
    }
    const url = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    images.push(url);
    const shown = element("img");
    shown.src = url;
    shown.alt = file.name;
    thumbs.append(shown);
  }
}

picker.addEventListener("change", () => take(picker.files).catch(fail).finally(() => { picker.value = ""; }));
text.addEventListener("paste", (event) => {
  if (event.clipboardData?.files.length) take(event.clipboardData.files).catch(fail);
});

turns.scrollTop = turns.scrollHeight;
const going = new URLSearchParams(location.search).get("run");
if (going && /^run_[0-9a-f]+$/.test(going)) follow(going).catch(fail);
