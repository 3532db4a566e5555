"""EVERY EXPERIMENT OF THE PAPER: specs that people can read, rows that survive a crash, tables and figures."""
