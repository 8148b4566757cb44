// Runs before the first paint, so that a chosen theme does not flash. Not a module: modules wait.
(function () {
  try {
    const chosen = localStorage.getItem("hermes-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage can be forbidden; the system's theme applies then.
  }
})();
