// Which page this is, by its address.

import { show, trouble } from "./dom.js";
import { lobby } from "./lobby.js";
import { seat } from "./seat.js";
import { watch } from "./watch.js";

const [kind, ...rest] = location.pathname.split("/").slice(1);
const id = rest.join("/");
const key = new URLSearchParams(location.search).get("key");

const pages = {
  "": () => lobby(),
  seat: () => seat(id),
  match: () => watch(`/api/matches/${id}`, id, key),
  record: () => watch(`/api/records/${id}`, decodeURIComponent(id), null),
};

try {
  await pages[kind]();
} catch (error) {
  show("", trouble(error.message));
}
