"""The command line: parse, call the library, print. The only place that writes to stdout."""
