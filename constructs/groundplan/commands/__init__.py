"""The commands of the groundplan program, one module each, loaded when called."""
