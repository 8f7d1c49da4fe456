"""The agents behind a kernel: finding, making, changing and restoring them."""
