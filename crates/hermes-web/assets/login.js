// Logs in with a password and goes on to the page that was wanted.
const prefix = document.querySelector('meta[name="hermes-prefix"]').content;
const form = document.getElementById("password");
const problem = document.getElementById("problem");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  const fields = new FormData(form);
  const response = await fetch(`${prefix}/auth/password-login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      username: fields.get("username"),
      password: fields.get("password"),
      next: form.dataset.next,
    }),
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) {
    location.assign(answer.next);
  } else {
    problem.textContent = answer.detail ?? "The login failed.";
  }
});
