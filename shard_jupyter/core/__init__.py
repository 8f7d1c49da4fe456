"""L2b: the harness inside one agent process. Depends on nothing optional."""
