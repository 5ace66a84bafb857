"""The secrets a site knows: which environment variable each becomes, and which Kubernetes Secret holds it."""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.platform.spec import SecretReference


@dataclass(frozen=True)
class SecretKind:
    """One kind of secret. `secret` is the Kubernetes Secret that groundplan makes for a `variable: true` reference."""

    environment: str
    secret: str
    description: str


#: Keys are the profile's keys under ``secrets:`` and the names of the Terraform variables.
SECRETS = {
    "hugging_face": SecretKind(
        "HF_TOKEN", "hugging-face-token", "Hugging Face read token; ephemeral, so it stands in no plan and no state."
    ),
    "wandb": SecretKind(
        "WANDB_API_KEY", "wandb-api-key", "Weights & Biases API key; ephemeral, so it stands in no plan and no state."
    ),
}


def secret_name(kind: str, reference: SecretReference) -> str:
    """Name of the Kubernetes Secret that a reference leads to."""
    return reference.secret or SECRETS[kind].secret
