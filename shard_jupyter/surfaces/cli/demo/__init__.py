"""What `shard demo` consists of."""
