"""The cluster stack: identities, the GKE cluster, the CPU pool."""
