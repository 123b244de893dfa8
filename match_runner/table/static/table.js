// Shows the page that the address names.

import { el, show, stay, trouble } from "./dom.js";
import { lobby } from "./lobby.js";
import { seat } from "./seat.js";
import { watch } from "./watch.js";

const [kind, ...rest] = location.pathname.split("/").slice(1);
const id = rest.join("/");
const key = new URLSearchParams(location.search).get("key");

const toLobby = () => el("p", {}, el("a", { href: "/" }, "To the lobby"));

const pages = {
  "": () => lobby(),
  seat: () => seat(id),
  match: () => watch(`/api/matches/${id}`, id, key),
  record: () => watch(`/api/records/${id}`, decodeURIComponent(id), null),
};

try {
  if (kind === "" || (id && kind in pages)) await pages[kind]();
  else show("There is no such page", toLobby());
} catch (error) {
  show("This page cannot be shown", trouble(error.message), toLobby());
  stay();
}
