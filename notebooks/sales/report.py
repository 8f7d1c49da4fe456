"""Sales by month, from sales.csv."""

import csv
from collections import defaultdict


def read_sales(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def monthly_totals(sales):
    """Return (month, total) pairs, the earliest month first."""
    totals = defaultdict(float)
    for sale in sales:
        year, month, _ = sale["date"].split("-")
        totals[int(month)] += float(sale["amount"])
    return sorted(totals.items(), key=lambda pair: str(pair[0]))
