"""L0: plain, serialisable data. No behaviour, no I/O, no third party but pydantic."""
