// A person's settings, kept in this browser: for the page, and for the next match.

const PLACE = "ggp-table-settings";
const AT_FIRST = { forced: true, kif: false, begin: null };

function allSettings() {
  try {
    return { ...AT_FIRST, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return { ...AT_FIRST };
  }
}

/** The value of a setting: `forced`, `kif` or `begin`. */
export const setting = (name) => allSettings()[name];

/** Keeps a setting, at least for this page if the browser keeps nothing. */
export function set(name, value) {
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...allSettings(), [name]: value }));
  } catch {
    AT_FIRST[name] = value;
  }
  apply();
}

/** Shows terms as words or as KIF. */
function apply() {
  document.documentElement.toggleAttribute("data-kif", setting("kif"));
}

apply();
