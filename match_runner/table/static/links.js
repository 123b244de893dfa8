// Leads to a new match.

import { counted, el, fill, name, ownLinks, say } from "./dom.js";

/** Goes to the seat, to the match, or to a choice of links. */
export function goTo(matches, links) {
  ownLinks.keep(matches);
  const seats = matches.flatMap((match) => Object.entries(match.links));
  if (matches.length === 1 && seats.length === 1) location.assign(seats[0][1]);
  else if (matches.length === 1 && !seats.length) location.assign(`/match/${matches[0].id}`);
  else if (!seats.length) {
    const text = `${counted(matches.length, "match")} began`;
    fill(links, el("p", { class: "good" }, `${text}.`));
    say(text);
  } else {
    const rows = seats.map(([role, link]) => {
      return el("li", {}, el("a", { href: link, target: "_blank" }, "Seat of ", name(role, 60)),
        " ", el("button", {
          type: "button",
          onClick: (event) => navigator.clipboard?.writeText(location.origin + link)
            .then(() => { event.target.textContent = "Copied"; }),
        }, "Copy the link"));
    });
    fill(links, el("div", { class: "card", role: "group", "aria-label": "Seats of the new match" },
      el("p", {}, "The match has begun. A seat's link lets anybody play that role: give it only to its player."),
      el("ul", {}, ...rows)));
    links.querySelector("a").focus();
  }
}
