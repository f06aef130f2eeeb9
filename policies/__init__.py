"""Policy as code: rules are pure functions, the pack only hands them to Pulumi."""
