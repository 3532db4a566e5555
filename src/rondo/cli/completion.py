"""`rondo --show-completion zsh`, `rondo --install-completion fish`: for a shell that is named.

typer only knows the shell that it detects, and would take no heed of a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from rondo.errors import SettingError

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_SHOW, _INSTALL = "--show-completion", "--install-completion"


def completion_of_named_shell(given: Sequence[str]) -> bool:
    """Show or install the completion where the arguments name a shell; False where they ask for something else."""
    if len(given) != 2 or given[0] not in (_SHOW, _INSTALL):
        return False
    if given[1] not in SHELLS:
        raise SettingError(f"there is no completion for a shell '{given[1]}'; known are {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script, install

    option, shell = given
    if option == _SHOW:
        print(get_completion_script(prog_name="rondo", complete_var="_RONDO_COMPLETE", shell=shell))
    else:
        _, path = install(shell=shell, prog_name="rondo", complete_var="_RONDO_COMPLETE")
        print(f"{shell} completion: {path}; it takes effect in a new terminal")
    return True
