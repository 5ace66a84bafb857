"""From a Site to artefacts: loading the bindings fast, building the cdktf App, writing its files."""
