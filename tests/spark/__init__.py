"""What users of Spark have: with real Spark where it is said so."""
