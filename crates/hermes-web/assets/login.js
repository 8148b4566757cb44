// Signing in with a password.

import { base, call } from "./api.js";

const form = document.getElementById("password");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const wrong = form.querySelector(".wrong");
  const button = form.querySelector("button");
  wrong.textContent = "";
  button.disabled = true;
  try {
    const answer = await call("POST", "/auth/password-login", {
      provider: "basic",
      username: form.elements.username.value,
      password: form.elements.password.value,
      next: form.dataset.next,
    });
    location.assign(answer?.next || `${base}/`);
  } catch (error) {
    wrong.textContent = error.status === 401 ? "The user name or the password is wrong." : error.message;
    form.elements.password.value = "";
    form.elements.password.focus();
    button.disabled = false;
  }
});
