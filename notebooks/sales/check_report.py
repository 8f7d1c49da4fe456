"""What the report must do. Run it: python3 -B check_report.py"""

import sys

from report import monthly_totals, read_sales


def check(what, found, wanted):
    passed = found == wanted
    print(f"ok    {what}" if passed else f"FAIL  {what}: {found!r}, not {wanted!r}")
    return passed


try:
    totals = monthly_totals(read_sales("sales.csv"))
except ValueError as error:
    print(f"FAIL  an amount that is missing counts as nothing: {error}")
    sys.exit(1)

results = [
    check("an amount that is missing counts as nothing", round(dict(totals)[2], 2), 99.9),
    check("months are in the order of the calendar", [month for month, _ in totals], [1, 2, 3, 10]),
]
sys.exit(not all(results))
