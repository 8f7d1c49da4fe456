"""Show which words come most often."""


def show_top(counts, limit):
    ranked = sorted(counts.items(), key=lambda item: item[1])
    return "\n".join(f"{count} {word}" for word, count in ranked[:limit])
