"""Write what commands say today into the pages that show it: `python -m tests.docs.refresh_pages docs/start.md …`.

For whoever has changed a message. Outputs with `...` in them were shortened by hand and stay, as do those of blocks
that are not run. With RONDO_DATA, the folder of public recordings, blocks that are run in full only are refreshed too.
Look at the difference before you commit it: a figure that has changed is a finding.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from tests.docs.executed_pages import blocks_of, outcomes_of, printed_by


def refresh(page: Path, data: Path | None) -> None:
    """Run a page in an empty folder and put its outputs into it."""
    text = page.read_text()
    namespace: dict[str, object] = {"__name__": "__page__"}
    blocks = blocks_of(page)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        if data is not None:
            Path("data").symlink_to(data)
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            if not block.runs(in_full=data is not None):
                continue
            if block.language == "python":
                printed = printed_by(block, namespace)
                if following is not None and following.language == "text" and "..." not in following.text:
                    text = text.replace(f"```text\n{following.text}", f"```text\n{printed}", 1)
                continue
            for command, outcome in outcomes_of(block):
                shown = f"$ {command.line}\n{command.output}"
                if command.output.strip() and "..." not in command.output:
                    text = text.replace(shown, f"$ {command.line}\n{_without_end_blanks(outcome.out)}", 1)
    page.write_text(text)


def _without_end_blanks(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


if __name__ == "__main__":
    named = os.environ.get("RONDO_DATA")
    for path in sys.argv[1:]:
        refresh(Path(path).resolve(), Path(named).resolve() if named else None)
