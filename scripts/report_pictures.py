"""The pictures of docs/report.md: the page of a real session with names, of planted data, and on three screens.

    python scripts/report_pictures.py DATA docs/pictures

DATA holds MoCap. Needs playwright and Pillow (the extra `test`) and a chromium on the PATH.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import rondo
from rondo.synthetic.streams import plant

SCREENS = ((1400, 900), (820, 1180), (390, 844))
RECORDING, RATE = "MoCap/amc_86_01.npz", 120.0
GAP = 24
FIRST_MOTIF = "() => rondoPage.choose(Object.keys(rondoPage.entries).find((key) => key.startsWith('motif|')))"


def shot(browser: Any, page: Path, size: tuple[int, int], theme: str, action: str = "") -> Image.Image:
    """What a screen of that size shows first, or after an action."""
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    tab.goto(page.as_uri())
    while not tab.evaluate("() => Boolean(window.rondoUnpacked)"):  # waiting inside the page would need eval
        tab.wait_for_timeout(50)
    if action:
        tab.evaluate(action)
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    tab.close()
    return picture


def beside(pictures: list[Image.Image], height: int) -> Image.Image:
    """Pictures in a row, all as tall."""
    scaled = [
        one.resize((round(one.width * height / one.height), height), Image.Resampling.LANCZOS) for one in pictures
    ]
    row = Image.new("RGB", (sum(one.width for one in scaled) + GAP * (len(scaled) - 1), height), "#808080")
    left = 0
    for one in scaled:
        row.paste(one, (left, 0))
        left += one.width + GAP
    return row


def save(picture: Image.Image, path: Path) -> None:
    """With 160 colours, also those of few pixels: a third of the bytes."""
    picture.quantize(160, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path, f"{path.stat().st_size / 1000:.0f} kB")


def main(data: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as play, tempfile.TemporaryDirectory() as scratch:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = rondo.discover(data / RECORDING, rate=RATE).report(Path(scratch) / "mocap.html")
        save(beside([shot(browser, page, size, "dark") for size in SCREENS], SCREENS[0][1]), out / "mocap_dark.png")
        made_up = plant(n_frames=15_000, seed=0).recording
        demo = rondo.discover(made_up, window="1.5s").report(Path(scratch) / "demo.html")
        save(shot(browser, demo, SCREENS[0], "light", FIRST_MOTIF), out / "entry.png")
        real = Path(scratch) / "real"
        subprocess.run([sys.executable, "-m", "rondo", "demo", "--real", "--out", real], check=True)
        save(shot(browser, real / "report.html", SCREENS[0], "light"), out / "first_screen.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
