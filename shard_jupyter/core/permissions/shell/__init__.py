"""What a shell command means: parsed, written anew, and judged by closed tables."""
