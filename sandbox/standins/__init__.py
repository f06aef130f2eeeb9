"""Programs that stand in for what a rehearsal machine cannot have."""
