"""A Pulumi plugin that takes azure-native's place in a rehearsal: thin, everything is decided by the ARM face."""
