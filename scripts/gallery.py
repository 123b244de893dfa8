"""Pictures of all games as the page of the table draws them: contact sheets for the gallery.

A random match of each game is played up to its middle; Chromium draws the state there. Beside each
picture is a text file with the words on it, which a test compares with today's.

    python scripts/gallery.py
    python scripts/gallery.py --out /tmp/sheets --each 1 some/rulesheet.kif

Needs Playwright for Python and the system's Chromium.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ggp.cli.arguments import FolderPath
from ggp.console import guarded
from ggp.errors import ConfigError
from ggp.gdl import parse_term
from ggp.gdl.games import find_game, list_games
from ggp.gdl.terms import Term
from ggp.library import Game, load
from match_runner.pictures import Layout
from match_runner.pictures.side_file import SUFFIX
from tests.table.pages.browsers import open_browser, why_no_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "match_runner" / "table" / "static"
Scheme = Literal["light", "dark"]

MAX_TURNS = 40
"""Turns of a match that are played before the picture is taken, at most."""

_PAGE = """<!doctype html><meta charset="utf-8"><style>
body { font: 15px/1.4 "DejaVu Sans", sans-serif; margin: 16px; background: #fff; color: #22252a; }
.sheet { columns: 3; column-gap: 28px; }
.sheet.single { columns: 1; }
section { break-inside: avoid; margin: 0 0 26px; }
h2 { font-size: 15px; margin: 0 0 8px; }
@media (prefers-color-scheme: dark) { body { background: #16191e; color: #e8eaee; } }
</style><div class="sheet"></div>"""

_DRAW = """([shots, single]) => {
  const sheet = document.querySelector(".sheet");
  sheet.classList.toggle("single", single);
  sheet.replaceChildren(...shots.map(({title, picture}) => {
    const section = document.createElement("section");
    const heading = document.createElement("h2");
    heading.textContent = title;
    section.append(heading, window.drawPicture(picture));
    return section;
  }));
}"""


@dataclass(frozen=True, slots=True)
class Shot:
    """A game in the middle of a match."""

    title: str
    picture: dict[str, object]


@click.command()
@click.argument("games", nargs=-1)
@click.option("--out", type=FolderPath(), default=str(ROOT / "docs" / "figures"), show_default=True)
@click.option("--each", type=click.IntRange(min=1), default=15, show_default=True)
@click.option("--width", type=click.IntRange(min=200), default=1100, show_default=True)
@click.option("--scheme", type=click.Choice(["light", "dark", "both"]), default="both")
@click.option("--seed", type=int, default=1, show_default=True)
def main(games: tuple[str, ...], out: Path, each: int, width: int, scheme: str, seed: int) -> None:
    """Draw GAMES, or else all that come with the package, EACH on a sheet."""
    out.mkdir(parents=True, exist_ok=True)
    shots = [shot(name, seed) for name in games or list_games()]
    schemes: list[Scheme] = ["light", "dark"]
    schemes = [one for one in schemes if scheme in (one, "both")]
    if missing := why_no_browser():
        raise ConfigError(missing)
    with open_browser() as browser:
        for path in draw(browser, shots, out, schemes, each, width):
            click.echo(path)


def shot(name: str, seed: int) -> Shot:
    """A game in the middle of a random match."""
    game = load(name)
    side_file = find_game(name).with_suffix(SUFFIX)
    layout = Layout.of(game.program.as_program(), side_file if side_file.is_file() else None)
    return Shot(Path(name).stem, layout.picture(state_in_the_middle(game, seed)).to_json())


def state_in_the_middle(game: Game, seed: int) -> list[Term]:
    """The fluents half way through a random match."""
    rng = random.Random(seed)
    states = [game.initial()]
    while not states[-1].terminal and len(states) <= 2 * MAX_TURNS:
        joint = {role: rng.choice(states[-1].legal(role)) for role in game.roles}
        states.append(states[-1].play(joint).state)
    half = states[min(MAX_TURNS, (len(states) + 1) // 2)]
    return [parse_term(fluent) for fluent in half.fluents]


def draw(
    browser: Browser,
    shots: Sequence[Shot],
    out: Path,
    schemes: Sequence[Scheme],
    each: int,
    width: int,
) -> Iterator[Path]:
    """Write sheets of so many games each; yields their files."""
    script = (STATIC / "board.js").read_text(encoding="utf-8")
    for scheme in schemes:
        page = browser.new_page(viewport={"width": width, "height": 600}, color_scheme=scheme)
        page.set_content(_PAGE)
        page.add_style_tag(path=str(STATIC / "board.css"))
        page.add_script_tag(content=f"{script}\nwindow.drawPicture = drawPicture;", type="module")
        for first in range(0, len(shots), each):
            sheet = [{"title": s.title, "picture": s.picture} for s in shots[first : first + each]]
            page.evaluate(_DRAW, [json.loads(json.dumps(sheet)), each == 1])
            name = shots[first].title if each == 1 else str(first // each + 1)
            file = out / f"gallery-{name}{'-dark' if scheme == 'dark' else ''}.png"
            page.screenshot(path=str(file), full_page=True)
            words = [line for line in page.inner_text("body").splitlines() if line.strip()]
            file.with_suffix(".txt").write_text("\n".join(words) + "\n", encoding="utf-8")
            yield file


if __name__ == "__main__":
    guarded(main)()
