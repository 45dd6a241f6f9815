"""The table: one record per matrix instruction, the single source of truth."""
