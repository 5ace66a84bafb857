"""groundplan: one YAML profile in, the auditable Terraform of a reinforcement-learning site on GKE out."""

__version__ = "0.1.0"
