// Keys: revealing one for a short while, and replacing one.

import "./find.js";
import { call } from "./api.js";
import { fail } from "./app.js";

const SHOWN_FOR = 20_000;

document.addEventListener("click", async (event) => {
  const reveal = event.target.closest("[data-reveal]");
  const set = event.target.closest("[data-set-key]");
  if (set) {
    const dialog = document.getElementById("new-key");
    dialog.showModal();
    const { key, value } = dialog.querySelector("form").elements;
    key.value = set.dataset.setKey;
    value.value = "";
    value.focus();
  }
  if (!reveal) return;
  const name = reveal.dataset.reveal;
  const place = document.getElementById(`value-${name}`);
  const mask = place.textContent;
  reveal.disabled = true;
  try {
    const answer = await call("POST", "/api/env/reveal", { key: name });
    place.textContent = answer.value;
    setTimeout(() => {
      place.textContent = mask;
      reveal.disabled = false;
    }, SHOWN_FOR);
  } catch (error) {
    reveal.disabled = false;
    fail(error);
  }
});
