"""What `shard doctor` looks at."""
