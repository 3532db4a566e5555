"""What systemd wants to hear from a service (sd_notify): that it is ready, alive, and what it is doing.

    [Service]
    Type=notify
    WatchdogSec=60

Nothing is sent where NOTIFY_SOCKET is not set.
"""

from __future__ import annotations

import os
import socket


def notify_systemd(*lines: str) -> bool:
    """Send lines such as READY=1; False where nobody listens, which is no reason to stop."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return False
    address = "\0" + place[1:] if place.startswith("@") else place  # a name without a file
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as out:
            out.setblocking(False)
            out.sendto("\n".join(lines).encode(), address)
    except OSError:
        return False
    return True
