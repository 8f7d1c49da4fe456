"""Extensions: the host that installs them and the diagnostics of their registrations."""
