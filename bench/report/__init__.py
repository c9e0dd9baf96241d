"""What was measured, for people and for programs: tables, charts, a page, JSON."""
