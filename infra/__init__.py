"""The Pulumi program: settings in, resources declared, one contract out."""
