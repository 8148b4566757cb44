// Requests to the server of this page: the token, the ways a session can end, and errors as sentences.

const meta = (name) => document.querySelector(`meta[name="hermes-${name}"]`)?.content ?? "";

export const base = meta("base");
const token = meta("token");
const FAILED_TOKEN = "hermes-failed-token";

/** An answer that is not a success. `message` is for people. */
export class ApiError extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

function sentence(status, body) {
  const detail = body?.detail ?? body?.error?.message ?? body?.error ?? body?.message;
  if (typeof detail === "string" && detail) return detail;
  if (Array.isArray(detail)) {
    return detail.map((one) => `${(one.loc ?? []).slice(1).join(".")}: ${one.msg}`).join("; ");
  }
  if (status === 429) return "Too many requests. Wait a moment and try again.";
  return `The server answered ${status}.`;
}

/**
 * Loads the page anew, at most once per token: the token that failed is remembered, and a success
 * does not make the page forget it. A server that was restarted has another one.
 */
function reloadFor(failed) {
  try {
    if (sessionStorage.getItem(FAILED_TOKEN) === failed) return false;
    sessionStorage.setItem(FAILED_TOKEN, failed);
  } catch {
    // Without a memory there must be no reload at all.
    return false;
  }
  location.reload();
  return true;
}

function unauthorized(body) {
  if (body?.login_url) {
    location.assign(body.login_url);
    return;
  }
  if (body?.reason === "stale_token" && token) reloadFor(token);
}

export function headers(more = {}) {
  return token ? { "X-Hermes-Session-Token": token, ...more } : more;
}

/** Sends a request to the API; `body` goes as JSON. The answer is what the JSON says. */
export async function call(method, path, body, options = {}) {
  const init = { method, headers: headers(), signal: options.signal, credentials: "same-origin" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["Content-Type"] = "application/json";
  }
  if (options.headers) Object.assign(init.headers, options.headers);
  let response;
  try {
    response = await fetch(base + path, init);
  } catch (cause) {
    if (cause?.name === "AbortError") throw cause;
    throw new ApiError(0, "The dashboard does not answer. Is `hermes dashboard` still running?");
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    answer = null;
  }
  if (response.ok) return answer;
  if (response.status === 401) unauthorized(answer);
  throw new ApiError(response.status, sentence(response.status, answer), answer);
}

/** Another page of the dashboard as a document, or this one as it is now. */
export async function page(url) {
  let response;
  try {
    response = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  } catch {
    throw new ApiError(0, "The dashboard does not answer. Is `hermes dashboard` still running?");
  }
  if (response.redirected && new URL(response.url).pathname === `${base}/login`) {
    location.assign(response.url);
  }
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/html")) throw new ApiError(response.status, `The server answered ${response.status}.`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** Whether the server still takes this page's token. A stale one reloads the page, once. */
export async function checkToken() {
  try {
    await call("GET", "/api/auth/me");
  } catch (error) {
    // On this machine there is no identity: 401 with another reason is the answer of a healthy server.
    return error.status !== 0;
  }
  return true;
}

/** A WebSocket of the server, with what it takes to be let in. */
export async function socket(path) {
  const url = new URL(base + path, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (token) {
    url.searchParams.set("token", token);
  } else {
    const { ticket } = await call("POST", "/api/auth/ws-ticket", {});
    url.searchParams.set("ticket", ticket);
  }
  return new WebSocket(url);
}
