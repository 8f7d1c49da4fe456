"""L2a: files. Append-only logs, atomic writes, locks; the only owner of sqlite3."""
