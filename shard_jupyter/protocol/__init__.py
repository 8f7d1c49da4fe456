"""L1: records on the wire and how they are framed. No I/O."""
