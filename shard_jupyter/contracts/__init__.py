"""L1: what each seam may do, raise, and what a failure is encoded as. Protocols only."""
