"""The platform stack: what the cluster needs before a job can run."""
