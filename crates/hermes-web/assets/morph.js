// Makes one part of the page equal to a newer version of itself, element by element, so that focus,
// scroll positions, opened details and half-typed text survive.

const key = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || null : null);

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

function attributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !kept(from, name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value && !kept(from, name)) from.setAttribute(name, value);
  }
}

// What the person did, not the server.
function kept(element, name) {
  if (name === "open") return element.localName === "details" || element.localName === "dialog";
  return name === "data-local" || (element.hasAttribute("data-local") && (name === "class" || name === "hidden"));
}

function isBusy(element) {
  if (element.hasAttribute("data-keep")) return true;
  return element === document.activeElement && element.matches("input, textarea, select");
}

function fields(from, to) {
  if (from.localName === "input" && (from.type === "checkbox" || from.type === "radio")) {
    if (!from.hasAttribute("data-local")) from.checked = to.checked;
  } else if (from.localName === "input" && !from.dataset.changed) {
    if (from.value !== to.value && from.defaultValue === from.value) from.value = to.value;
  }
}

export function morph(from, to) {
  if (from.nodeType === 3) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  if (from.nodeType !== 1 || isBusy(from)) return;
  fields(from, to);
  attributes(from, to);
  if (from.localName === "textarea" || from.localName === "select") {
    if (from.dataset.changed || from.isEqualNode(to)) return;
  }
  children(from, to);
}

function children(from, to) {
  const wantedKeys = new Set([...to.childNodes].map(key));
  const byKey = new Map();
  for (const child of [...from.childNodes]) {
    const id = key(child);
    if (!id) continue;
    // What goes does so first, so that what stays need not move.
    if (wantedKeys.has(id) || child.hasAttribute("data-local-only")) byKey.set(id, child);
    else child.remove();
  }
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    // What only this page has stays where it is.
    while (at?.nodeType === 1 && at.hasAttribute("data-local-only")) at = at.nextSibling;
    const id = key(wanted);
    let match = id ? byKey.get(id) : null;
    if (match && !same(match, wanted)) match = null;
    if (!match && at && !key(at) && !id && same(at, wanted)) match = at;
    if (match) {
      if (match === at) at = at.nextSibling;
      else from.insertBefore(match, at);
      morph(match, wanted);
      if (id) byKey.delete(id);
    } else {
      from.insertBefore(document.importNode(wanted, true), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    if (!(at.nodeType === 1 && at.hasAttribute("data-local-only"))) at.remove();
    at = next;
  }
}
