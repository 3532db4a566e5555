"""What goes on around a stream: alarms, sinks that follow it, health, exit codes."""
