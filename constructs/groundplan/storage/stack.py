"""The storage stack: the Managed Lustre instance and optional buckets. It outlives clusters."""

from __future__ import annotations

from cdktf_cdktf_provider_google.lustre_instance import LustreInstance, LustreInstanceTimeouts
from cdktf_cdktf_provider_google.storage_bucket import (
    StorageBucket,
    StorageBucketLifecycleRule,
    StorageBucketLifecycleRuleAction,
    StorageBucketLifecycleRuleCondition,
    StorageBucketVersioning,
)
from constructs import Construct

from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack
from groundplan.storage.spec import Bucket


class StorageStack(SiteStack):
    """Everything whose loss loses data."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "storage")
        self._lustre()
        for bucket in site.profile.storage.buckets:
            self._bucket(bucket)

    def _lustre(self) -> LustreInstance:
        plan = self.site.lustre
        return LustreInstance(
            self,
            "lustre",
            instance_id=plan.name,
            project=self.site.project,
            location=plan.zone,
            description=f"{self.site.name}: models, data, checkpoints, logs",
            filesystem=plan.filesystem,
            # The provider types both as text.
            capacity_gib=str(plan.capacity_gib),
            per_unit_storage_throughput=str(plan.throughput),
            network=self.site.network.vpc_path,
            gke_support_enabled=plan.legacy_port,
            labels=self.site.labels,
            # The default of 20 minutes is too short: 99 in 100 are made within 40 to 80 (magic-modules#14878).
            timeouts=LustreInstanceTimeouts(create="120m", update="60m", delete="60m"),
        )

    def _bucket(self, bucket: Bucket) -> StorageBucket:
        old_versions = StorageBucketLifecycleRule(
            action=StorageBucketLifecycleRuleAction(type="Delete"),
            condition=StorageBucketLifecycleRuleCondition(
                days_since_noncurrent_time=bucket.retention_days, with_state="ARCHIVED"
            ),
        )
        return StorageBucket(
            self,
            f"bucket-{bucket.name}",
            name=bucket.name,
            project=self.site.project,
            location=(bucket.location or self.site.region).upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            versioning=StorageBucketVersioning(enabled=bucket.versioning),
            lifecycle_rule=[old_versions] if bucket.versioning else None,
            labels=self.site.labels,
        )
