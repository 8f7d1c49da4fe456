"""Doubles that ship with the package and pass the same contract suites as the real parts."""
