// Settings: one change at a time, checked by the server, which also knows whether somebody else has
// changed the same one since this page was made.

import "./find.js";
import { call } from "./api.js";
import { fail, sure, toast } from "./app.js";
import { refresh } from "./live.js";

const settings = document.getElementById("settings");

async function save(field, overwrite = false) {
  const wrong = field.closest(".ctl").querySelector(".wrong");
  const { setting, was } = field.dataset;
  wrong.textContent = "";
  field.removeAttribute("aria-invalid");
  try {
    const body = { key: setting, value: field.value };
    if (!overwrite) body.was = was;
    const answer = await call("PUT", "/api/config/value", body);
    field.dataset.was = answer?.shown ?? field.value;
    delete field.dataset.changed;
    toast(answer?.warning ?? `${setting} is saved.`);
    await refresh();
  } catch (error) {
    if (error.status === 409) {
      const theirs = error.body?.current ?? "another value";
      const mine = field.value;
      if (await sure(`${setting} was changed to “${theirs}” since this page was opened. Replace it with “${mine}”?`, "Replace")) {
        await save(field, true);
      } else {
        field.dataset.was = theirs;
        field.value = theirs;
        delete field.dataset.changed;
        await refresh();
      }
      return;
    }
    field.setAttribute("aria-invalid", "true");
    wrong.textContent = error.message;
  }
}

settings?.addEventListener("change", ({ target }) => {
  if (target.dataset.setting) save(target).catch(fail);
});
settings?.addEventListener("keydown", (event) => {
  const field = event.target;
  if (!field.dataset?.setting || field.localName !== "input") return;
  if (event.key === "Enter") field.blur();
  if (event.key === "Escape") {
    field.value = field.dataset.was;
    delete field.dataset.changed;
    field.blur();
  }
});

const raw = document.getElementById("raw");
if (raw) {
  const area = document.getElementById("yaml");
  let was = area.value;
  raw.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wrong = raw.querySelector(".wrong");
    wrong.textContent = "";
    try {
      const now = await call("GET", "/api/config/raw");
      if (now.yaml !== was && !(await sure("config.yaml was changed since this page was opened. Replace it with what is written here?", "Replace"))) {
        wrong.textContent = "Not saved. Load the page anew to see what was changed.";
        return;
      }
      await call("PUT", "/api/config/raw", { yaml_text: area.value });
      was = (await call("GET", "/api/config/raw")).yaml;
      area.value = was;
      toast("config.yaml is saved.");
    } catch (error) {
      wrong.textContent = error.message;
    }
  });
  window.addEventListener("beforeunload", (event) => { if (area.value !== was) event.preventDefault(); });
}
