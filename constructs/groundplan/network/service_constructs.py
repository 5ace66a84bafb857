"""A project's services, and the wait until they answer."""

from __future__ import annotations

from collections.abc import Sequence

from cdktf import ITerraformDependable, TerraformResource
from cdktf_cdktf_provider_google.project_service import ProjectService
from constructs import Construct

#: Seconds until a service that was just enabled answers everywhere, and its agent has its role. The provider waits only
#: until the service is listed (google 7.45.0, serviceusage batching), and neither retries what then answers 403 nor a
#: connection whose agent cannot list addresses yet (hashicorp/terraform-provider-google#14720). No promise of Google's.
SETTLE_SECONDS = 60


class ProjectServices:
    """The services, ``google_project_service.service-<name>``, and ``terraform_data.services-settled``.

    The latter sleeps once, in the apply that makes it. `names` are those before ``.googleapis.com``.

    The sleep is a shell's, so that it needs no provider and works in Terraform Cloud's remote runs; where there is no
    `sleep` (Windows), and in a rehearsal, nothing is waited for.
    """

    def __init__(self, scope: Construct, project: str, names: Sequence[str]) -> None:
        self.services = [
            ProjectService(
                scope,
                f"service-{name}",
                project=project,
                service=f"{name}.googleapis.com",
                # Other sites of the project go on using it after this one is destroyed.
                disable_on_destroy=False,
                disable_dependent_services=False,
            )
            for name in names
        ]
        self.settled = TerraformResource(
            scope, "services-settled", terraform_resource_type="terraform_data", depends_on=list(self.services)
        )
        sleep = f'test -n "$STAGED_TERRAFORM_REHEARSAL" || sleep {SETTLE_SECONDS}'
        self.settled.add_override("provisioner", [{"local-exec": {"command": sleep, "on_failure": "continue"}}])

    @property
    def ready(self) -> list[ITerraformDependable]:
        """What needs the services waits for these."""
        return [self.settled]
