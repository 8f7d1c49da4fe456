"""What `shard models pull` and `rm` show and ask."""
