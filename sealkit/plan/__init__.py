"""From a YAML file to a checked `Plan`: what will be concluded from which data, before any of it exists."""
