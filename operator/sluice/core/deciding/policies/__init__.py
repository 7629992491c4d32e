"""Rules that decide, one per file: ours, and the rivals with what their authors publish. `named` finds them by name."""
