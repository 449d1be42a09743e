"""The page in a real browser: it fits three widths, light and dark, its style applies, and it asks no network for anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sealkit.publish.pages.page import page
from tests.publish import hostile
from tests.publish.browser import CHROMIUM, HOW_TO_INSTALL, Browser, browser
from tests.publish.documents import synthetic
from tests.publish.test_page import everywhere

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=HOW_TO_INSTALL)
WIDTHS = (390, 820, 1400)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, published_once: Path, held_once: Path) -> dict[str, Path]:
    """A published page, one with hostile texts, and one with every part."""
    folder = tmp_path_factory.mktemp("pages")
    found = {
        name: next((study / "publications").glob("*/report.html"))
        for name, study in (("published", published_once), ("held", held_once))
    }
    for name, document in (("full", synthetic()), ("hostile", everywhere(hostile.EVERY))):
        found[name] = folder / f"{name}.html"
        found[name].write_text(page(document), encoding="utf-8")
    return found


def foreign(chromium: Browser) -> list[bytes]:
    """What came to the proxy that is not Chromium's own business with its maker."""
    own = (b"googleapis.com", b"google.com", b"gstatic.com", b"chromium.org", b"gvt1.com")
    return [asked for asked in chromium.proxy.asked if not any(host in asked for host in own)]


@pytest.mark.parametrize("name", ["published", "held", "full", "hostile"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_window_and_loads_itself_alone(
    name: str, width: int, chromium: Browser, pages: dict[str, Path]
) -> None:
    chromium.requests.clear()
    chromium.complaints.clear()
    chromium.open(pages[name], width=width)
    assert chromium.value("document.readyState") == "complete"
    assert chromium.value("document.documentElement.scrollWidth") == width
    assert chromium.value("document.body.scrollWidth") == width
    # Whatever is wider than the window scrolls inside its own box.
    wide = "[...document.querySelectorAll('main > *, section > *:not(figure), .card, .card *')]"
    assert chromium.value(f"{wide}.filter(e => e.getBoundingClientRect().right > {width} + 1).length") == 0
    assert chromium.requests == [pages[name].as_uri()]
    assert chromium.complaints == []
    assert foreign(chromium) == []


def test_its_style_applies_and_its_verdicts_are_there(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["full"], width=820)
    assert chromium.value("getComputedStyle(document.querySelector('.card')).borderTopWidth") == "1px"
    assert chromium.value("document.querySelector('h2').textContent") == "Verdicts, and what they do not show"
    assert chromium.value("document.querySelectorAll('svg circle').length") == 5
    assert chromium.value("document.scripts.length") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_in_light_and_dark(dark: bool, chromium: Browser, pages: dict[str, Path]) -> None:
    """The contrast of every colour of text against what it stands on (WCAG 2.1, 1.4.3: at least 4.5)."""
    chromium.open(pages["full"], width=820, dark=dark)
    contrast = """(() => {
      const light = text => { const [r, g, b] = text.match(/[0-9.]+/g).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (!c.startsWith('rgba(0, 0, 0, 0)')) return c; } return 'rgb(255, 255, 255)'; };
      return Math.min(...[...document.querySelectorAll('p, li, td, th, h1, h2, figcaption, code, .status, svg text')].map(e => {
        const style = getComputedStyle(e), own = light(e.tagName == 'text' ? style.fill : style.color), back = light(behind(e));
        return (Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05); }));
    })()"""
    assert chromium.value(contrast) >= 4.5
    expected = "rgb(20, 24, 31)" if dark else "rgb(255, 255, 255)"
    assert chromium.value("getComputedStyle(document.body).backgroundColor") == expected


def test_labels_of_a_plot_do_not_leave_it(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["full"], width=390)
    outside = "[...document.querySelectorAll('svg text')].filter(t => { const box = t.getBBox(); return box.x < 0 || box.x + box.width > 720; })"
    assert chromium.value(f"{outside}.length") == 0


def test_a_page_that_asks_a_network_is_found_out(chromium: Browser, tmp_path: Path) -> None:
    """The test above can fail: a page without our policy, with a picture from elsewhere and too wide."""
    path = tmp_path / "asks.html"
    path.write_text("<!doctype html><body style='width: 2000px'><img src='http://elsewhere.invalid/i.png'>")
    chromium.requests.clear()
    chromium.open(path, width=390)
    assert chromium.value("document.documentElement.scrollWidth") > 390
    assert "http://elsewhere.invalid/i.png" in chromium.requests
    assert any(b"elsewhere.invalid" in asked for asked in foreign(chromium))
    chromium.proxy.asked.clear()


def test_the_policy_itself_stops_what_a_text_could_never_add(chromium: Browser, tmp_path: Path) -> None:
    """Were a script, a style or a picture to get in, the page's policy would not let it run, apply or load."""
    html = page(synthetic())
    more = ("<script>document.title = 'ran'</script><img src='http://elsewhere.invalid/i.png'>"
            "<p id='styled' style='position: fixed'>x</p><style>h1 { display: none }</style>")  # fmt: skip
    path = tmp_path / "more.html"
    path.write_text(html.replace("<main>", f"<main>{more}"), encoding="utf-8")
    chromium.requests.clear()
    chromium.proxy.asked.clear()
    chromium.open(path, width=820)
    assert chromium.value("document.title") == "Does the plus arm do better?"
    assert chromium.value("getComputedStyle(document.getElementById('styled')).position") == "static"
    assert chromium.value("getComputedStyle(document.querySelector('h1')).display") == "block"
    assert foreign(chromium) == []
    assert len(chromium.complaints) >= 3
