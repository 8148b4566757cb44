// Narrows a page of settings, keys or skills down to what was typed.

const form = document.getElementById("find");

function narrow() {
  const text = form.elements.q.value.trim().toLowerCase();
  const onlySet = form.elements.changed?.checked ?? false;
  let shown = 0;
  for (const group of document.querySelectorAll(".group")) {
    let here = 0;
    for (const one of group.querySelectorAll(".setting")) {
      const fits = (!text || one.dataset.text.includes(text)) && (!onlySet || one.dataset.set === "true");
      one.hidden = !fits;
      if (fits) here += 1;
    }
    group.hidden = here === 0 && (text !== "" || onlySet);
    shown += here;
  }
  document.getElementById("found").textContent = `${shown} shown`;
}

if (form) {
  form.addEventListener("input", narrow);
  form.addEventListener("change", narrow);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("hermes:refreshed", narrow);
  narrow();
}
