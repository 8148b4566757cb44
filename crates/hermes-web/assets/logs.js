// Logs: the newest line stays in sight while it is followed.

import { refresh } from "./live.js";

const log = document.getElementById("log");
const follow = document.getElementById("follow");
const toEnd = () => { log.scrollTop = log.scrollHeight; };

document.addEventListener("hermes:refreshed", () => { if (follow.checked) toEnd(); });
log.addEventListener("scroll", () => {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  if (!atEnd && follow.checked && !log.matches(":hover")) return;
  if (!atEnd) follow.checked = false;
});
follow.addEventListener("change", () => { if (follow.checked) toEnd(); });
setInterval(() => { if (follow.checked && !document.hidden) refresh().catch(() => {}); }, 1500);
toEnd();
