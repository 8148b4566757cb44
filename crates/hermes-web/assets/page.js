// What every page does: requests with the token of the page, and the one rule for reloading.
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
export const prefix = meta("hermes-prefix");
const token = meta("hermes-token");
const FAILED = "hermes-failed-token";

export class RequestError extends Error {
  constructor(status, body) {
    const detail = body?.detail;
    super(typeof detail === "string" ? detail : (detail?.[0]?.msg ?? `the server answered ${status}`));
    this.status = status;
    this.body = body;
  }
}

// A page is loaded again only because its token is stale, and once per token: a token that has failed
// is remembered, and nothing but another token makes the page load again.
function onUnauthorized(body) {
  if (body?.login_url) {
    location.assign(body.login_url);
  } else if (body?.reason === "stale_token" && sessionStorage.getItem(FAILED) !== token) {
    sessionStorage.setItem(FAILED, token);
    location.reload();
  }
}

export async function api(path, { method = "GET", body } = {}) {
  const headers = token ? { "X-Hermes-Session-Token": token } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(prefix + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  if (response.status === 401) onUnauthorized(answer);
  throw new RequestError(response.status, answer);
}

document.getElementById("logout")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await api("/auth/logout", { method: "POST" });
  location.assign(answer.login_url);
});
